"""The real gateway process under kill -9 while Lark misbehaves, with the local Lark as the judge."""
