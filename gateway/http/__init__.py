"""The HTTP door: answers, errors, paging, the operator's identity, health, metrics and the server itself."""
