"""Reading the owner's machine: declared workspaces, at a pinned revision, bounded in time and output.

``HostTools`` fulfils ``manager.ports.HostTools``. A git workspace is read from the commit that was checked out when the
session opened, another one through directory descriptors that follow no link. Nothing here writes.
"""

from __future__ import annotations

from providers.hosttools.limits import Limits
from providers.hosttools.tools import LocalHostTools
from providers.hosttools.workspaces import Workspace, WorkspaceConflict, WorkspaceMissing, declare

__all__ = ["Limits", "LocalHostTools", "Workspace", "WorkspaceConflict", "WorkspaceMissing", "declare"]
