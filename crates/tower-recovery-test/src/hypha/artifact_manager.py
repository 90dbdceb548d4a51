"""A look-alike of Hypha's artifact manager: the names, the arguments and the rules of `silent` of the real one, without its database.

What it knows it reads from the ledger, so every instance knows the same, and a new one goes on where the last was killed.
"""

import functools
import inspect

from ledger import execute

# Those that count a view, and can be told not to.
VIEWS = ("read", "list", "get_file")


class ArtifactManager:
    def __init__(self, ledger, behaviours):
        self._ledger = ledger
        self._behaviours = behaviours
        self._artifacts = {}
        self._views = {}

    def service(self):
        methods = {name: self._method(name, work) for name, work in vars(Methods).items() if not name.startswith("_")}
        config = {"visibility": "public", "require_context": True}
        return {"id": "artifact-manager", "name": "Artifact Manager", "config": config, **methods}

    def _method(self, name, work):
        signature = inspect.signature(work)

        async def method(*args, context=None, request_id=None, **kwargs):
            # Wrong arguments are a TypeError, and no execution.
            bound = signature.bind(self, *args, **kwargs)
            bound.apply_defaults()
            arguments = {key: value for key, value in bound.arguments.items() if key != "self"}
            # Over HTTP it comes as a number or as text.
            silent = bool(arguments.get("silent", False))
            if name == "create" and not arguments["alias"] and not arguments["artifact_id"]:
                # Drawn here, since who reads the ledger must come to the same.
                arguments["alias"] = f"artifact-{len(self._current())}"
            details = {
                "artifact_id": artifact_of(arguments),
                "arguments": arguments,
                "request_id": request_id,
                "silent": silent,
                "view": name in VIEWS and not silent,
                "caller": (context or {}).get("from"),
            }
            return await execute(self._ledger, self._behaviours, name, details, lambda: self._run(name, work, arguments))

        method.__name__ = name
        method.__doc__ = work.__doc__
        return method

    def _run(self, name, work, arguments):
        # Changes come from the ledger, where this execution is by now, in the order of all instances.
        self._current()
        return work(self, **arguments)

    def _current(self):
        for line in self._ledger.unread():
            if line["event"] != "executed" or "raised" in line or line.get("arguments") is None:
                continue
            if line["view"]:
                self._views[line["artifact_id"]] = self._views.get(line["artifact_id"], 0) + 1
            change = CHANGES.get(line["method"])
            if change:
                change(self._artifacts, line["artifact_id"], line["arguments"])
        return self._artifacts

    def get(self, artifact_id):
        if artifact_id not in self._artifacts:
            raise KeyError(f"Artifact with ID '{artifact_id}' does not exist.")
        return self._artifacts[artifact_id]

    def shown(self, artifact_id):
        artifact = self.get(artifact_id)
        known = {key: artifact[key] for key in ("id", "alias", "type", "parent_id", "manifest", "config", "versions", "staging")}
        return {**known, "view_count": self._views.get(artifact_id, 0)}


def artifact_of(arguments):
    return arguments.get("artifact_id") or arguments.get("alias") or arguments.get("parent_id")


class Methods:
    """The methods; `self` is the manager. Those that change something only say how it is afterwards."""

    def create(self, alias=None, artifact_id=None, workspace=None, parent_id=None, manifest=None, type=None, config=None,
               secrets=None, version=None, stage=False, comment=None, overwrite=False):
        return self.shown(artifact_id or alias)

    def edit(self, artifact_id, manifest=None, type=None, config=None, secrets=None, version=None, stage=False, comment=None):
        return self.shown(artifact_id)

    def read(self, artifact_id, silent=False, version=None, stage=False):
        return self.shown(artifact_id)

    def commit(self, artifact_id, version=None, comment=None, branch=None):
        return self.shown(artifact_id)

    def discard(self, artifact_id):
        return self.shown(artifact_id)

    def delete(self, artifact_id, delete_files=False, recursive=False, version=None):
        return None

    def publish(self, artifact_id, to=None, metadata=None):
        return {"artifact_id": artifact_id, "to": to, "published": self.get(artifact_id)["published"]}

    def put_file(self, artifact_id, file_path, download_weight=0, use_proxy=None, use_local_url=False, expires_in=3600):
        self.get(artifact_id)
        paths = [file_path] if isinstance(file_path, str) else file_path
        urls = {path: f"http://files.invalid/{artifact_id}/{path}" for path in paths}
        return urls[file_path] if isinstance(file_path, str) else urls

    def remove_file(self, artifact_id, file_path, branch=None):
        self.get(artifact_id)

    def get_file(self, artifact_id, file_path, silent=False, version=None, stage=False, branch=None, use_proxy=None,
                 use_local_url=False, expires_in=3600):
        check_files(self.get(artifact_id), file_path)
        return f"http://files.invalid/{artifact_id}/{file_path}"

    def read_file(self, artifact_id, file_path, format="text", encoding="utf-8", offset=0, limit=None, version=None, stage=False,
                  branch=None):
        artifact = self.get(artifact_id)
        check_files(artifact, file_path)
        return {"name": file_path, "content": artifact["files"][file_path], "format": format, "offset": offset}

    def write_file(self, artifact_id, file_path, content, format="text", encoding="utf-8", branch=None):
        self.get(artifact_id)
        return {"success": True, "path": file_path}

    def list_files(self, artifact_id, dir_path=None, limit=1000, version=None, stage=False, branch=None, include_pending=False):
        names = sorted(self.get(artifact_id)["files"])
        return [{"name": name, "type": "file"} for name in names if name.startswith(dir_path or "")][:limit]

    def list(self, parent_id=None, keywords=None, filters=None, mode="AND", offset=0, limit=100, order_by=None, silent=False,
             pagination=False, stage=False):
        return children(self, parent_id, keywords)[offset:offset + limit]

    def search(self, parent_id=None, keywords=None, filters=None, mode="AND", offset=0, limit=100, order_by=None, pagination=False,
               stage=False):
        return children(self, parent_id, keywords)[offset:offset + limit]

    def add_vectors(self, artifact_id, vectors, update=False):
        return [vector["id"] for vector in vectors]

    def remove_vectors(self, artifact_id, ids):
        self.get(artifact_id)

    def search_vectors(self, artifact_id, query=None, filters=None, limit=5, offset=0, return_fields=None, order_by=None,
                       pagination=False):
        return list(self.get(artifact_id)["vectors"].values())[offset:offset + limit]

    def get_vector(self, artifact_id, id):
        return self.get(artifact_id)["vectors"][str(id)]

    def list_vectors(self, artifact_id, offset=0, limit=10, return_fields=None, order_by=None, pagination=False):
        return list(self.get(artifact_id)["vectors"].values())[offset:offset + limit]

    def create_pr(self, artifact_id, title, source_branch, target_branch="main", description=None):
        return self.get(artifact_id)["prs"][-1]

    def get_pr(self, artifact_id, pr_number):
        return pr(self.get(artifact_id), pr_number)

    def list_prs(self, artifact_id, status=None, limit=50, offset=0):
        prs = self.get(artifact_id)["prs"]
        return [one for one in prs if status in (None, one["status"])][offset:offset + limit]

    def update_pr(self, artifact_id, pr_number, title=None, description=None):
        return pr(self.get(artifact_id), pr_number)

    def close_pr(self, artifact_id, pr_number, comment=None):
        return pr(self.get(artifact_id), pr_number)

    def merge_pr(self, artifact_id, pr_number, merge_strategy="auto", comment=None, delete_branch=True):
        return pr(self.get(artifact_id), pr_number)

    def submit_review(self, artifact_id, pr_number, verdict, comment=None):
        return pr(self.get(artifact_id), pr_number)["reviews"][-1]

    def list_reviews(self, artifact_id, pr_number):
        return pr(self.get(artifact_id), pr_number)["reviews"]


def children(manager, parent_id, keywords):
    found = [manager.shown(artifact_id) for artifact_id, artifact in manager._artifacts.items() if artifact["parent_id"] == parent_id]
    return [one for one in found if all(keyword in repr(one["manifest"]) for keyword in keywords or ())]


def check_files(artifact, file_path):
    for path in [file_path] if isinstance(file_path, str) else file_path:
        if path not in artifact["files"]:
            raise FileNotFoundError(f"File '{path}' does not exist.")


def pr(artifact, number):
    if not 1 <= number <= len(artifact["prs"]):
        raise KeyError(f"Pull request {number} does not exist.")
    return artifact["prs"][number - 1]


def change(function):
    """A change of an artifact: without effect where there is none, for which the method raises."""

    @functools.wraps(function)
    def changed(artifacts, artifact_id, arguments):
        if artifact_id in artifacts:
            function(artifacts[artifact_id], arguments)

    return changed


def created(artifacts, artifact_id, arguments):
    if artifact_id in artifacts and not arguments["overwrite"]:
        return
    artifacts[artifact_id] = {
        "id": artifact_id, "alias": arguments["alias"], "type": arguments["type"] or "generic", "parent_id": arguments["parent_id"],
        "manifest": arguments["manifest"] or {}, "config": arguments["config"] or {}, "staging": arguments["stage"],
        "versions": [] if arguments["stage"] else ["v0"], "files": {}, "vectors": {}, "prs": [], "published": 0,
    }


def deleted(artifacts, artifact_id, arguments):
    artifacts.pop(artifact_id, None)


@change
def edited(artifact, arguments):
    for key in ("manifest", "config", "type"):
        if arguments[key] is not None:
            artifact[key] = arguments[key]
    artifact["staging"] = arguments["stage"] or artifact["staging"]


@change
def committed(artifact, arguments):
    # A commit makes a version: one that is repeated makes two.
    artifact["versions"].append(arguments["version"] or f"v{len(artifact['versions'])}")
    artifact["staging"] = False


@change
def discarded(artifact, arguments):
    artifact["staging"] = False


@change
def published(artifact, arguments):
    artifact["published"] += 1


@change
def file_put(artifact, arguments):
    paths = arguments["file_path"]
    for path in [paths] if isinstance(paths, str) else paths:
        artifact["files"][path] = arguments.get("content", "")


@change
def file_removed(artifact, arguments):
    artifact["files"].pop(arguments["file_path"], None)


@change
def vectors_added(artifact, arguments):
    artifact["vectors"].update({str(vector["id"]): vector for vector in arguments["vectors"]})


@change
def vectors_removed(artifact, arguments):
    for one in arguments["ids"]:
        artifact["vectors"].pop(str(one), None)


@change
def pr_created(artifact, arguments):
    known = {key: arguments[key] for key in ("title", "source_branch", "target_branch", "description")}
    artifact["prs"].append({"number": len(artifact["prs"]) + 1, "status": "open", "reviews": [], **known})


def on_pr(update):
    @change
    def changed(artifact, arguments):
        if 1 <= arguments["pr_number"] <= len(artifact["prs"]):
            update(artifact["prs"][arguments["pr_number"] - 1], arguments)

    return changed


CHANGES = {
    "create": created, "edit": edited, "commit": committed, "discard": discarded, "delete": deleted, "publish": published,
    "put_file": file_put, "write_file": file_put, "remove_file": file_removed,
    "add_vectors": vectors_added, "remove_vectors": vectors_removed,
    "create_pr": pr_created,
    "update_pr": on_pr(lambda one, arguments: one.update({k: arguments[k] for k in ("title", "description") if arguments[k]})),
    "close_pr": on_pr(lambda one, arguments: one.update(status="closed")),
    "merge_pr": on_pr(lambda one, arguments: one.update(status="merged")),
    "submit_review": on_pr(lambda one, arguments: one["reviews"].append({"verdict": arguments["verdict"]})),
}
