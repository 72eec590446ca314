"""What keeps the containers of a pod from running: images, configuration, memory, endings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from groundspeed import units
from groundspeed.manifests.trouble import Trouble, first_match, name_of, one_line, telling_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.manifests.naming import Object

_IMAGE_REASONS = {
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImageInspectError",
    "ImagePullBackOff",
    "InvalidImageName",
    "RegistryUnavailable",
    "SignatureValidationFailed",
}
_NEVER_AN_IMAGE = {"ErrImageNeverPull", "InvalidImageName"}
_IMAGE_HINTS = (
    (r"ErrImageNeverPull", "load the image on that node, or take pull_policy: IfNotPresent"),
    (r"InvalidImageName", "correct the name of the image"),
    (
        r"unauthorized|denied|[Ff]orbidden",
        "give the service account of the namespace an imagePullSecret for its registry",
    ),
    (r": not found$|manifest unknown|does not exist", "correct the name or the tag of the image"),
    (r"no match for platform", "take an image for the processors of that node"),
    (r".", "see that the nodes reach its registry"),
)
# Each layer that failed names the image once more.
_LAYERS = re.compile(
    r"(?:rpc error: code = \w+ desc = )?[Ff]ailed to (?:pull and unpack image|pull image|resolve"
    r' reference|resolve image|do request)(?: "[^"]*")?: '
)
# Registries that say so do not change their mind while one waits.
_REFUSED = re.compile(
    r"unauthorized|denied|[Ff]orbidden|: not found$|manifest unknown|does not exist|no match for"
)
_CONFIGURATION_REASONS = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
_CONFIGURATION_HINTS = (
    (r"(?i)^secret .* not found", "make that Secret in the namespace of the run"),
    (r"couldn't find key", "give the Secret that key, or name another one in the suite"),
    (r"not found", "make it in the namespace of the run, or correct its name"),
    (r"runAsNonRoot", "name the user of the image by its number, as in user: 999"),
)
_ENDING_HINTS = (
    (
        r"user does not exist|knows no user",
        "name the user that the server of this image runs as by its number, as in user: 70",
    ),
    (r"executable file not found|no such file or directory", "take an image that has it"),
    (r"io_uring", "the container runtime forbids io_uring: set io_method to worker"),
    (r"No space left", "ask for a larger volume"),
    (r"Permission denied", "see that the user of the pod may write to its volume"),
    (r"parameter|configuration", "correct the settings of this environment"),
    (
        r"shared memory|allocate memory",
        "ask for more memory, or for less in shared_buffers and huge_pages",
    ),
)
# After so many endings another one is not to be waited for.
_ENOUGH_RESTARTS = 3
_KILLED, _SIGNALS = 137, 128


def container_trouble(pod: Object, events: Sequence[Object]) -> Trouble | None:
    """Tell what keeps the first container that does not run from it; None while all only start."""
    for state in _states(pod):
        found = (
            _image_trouble(pod, state, events)
            or _configuration_trouble(pod, state)
            or _ending(pod, state)
        )
        if found is not None:
            return found
    return None


def last_ending(pod: Object) -> Trouble | None:
    """Tell how a container of a pod ended last, also of one that runs again; None if none did.

    Containers that only prepare and ended well are none.
    """
    return next((found for state in _states(pod) if (found := _ending(pod, state))), None)


def restart_count(pod: Object) -> int:
    """Count the restarts of the containers of a pod; those that prepare are left out."""
    states = (pod.get("status") or {}).get("containerStatuses") or []
    return sum(int(state.get("restartCount") or 0) for state in states)


def _states(pod: Object) -> Iterator[dict[str, Any]]:
    status = pod.get("status") or {}
    yield from status.get("initContainerStatuses") or []
    yield from status.get("containerStatuses") or []


def _waiting(state: dict[str, Any]) -> tuple[str, str]:
    waiting = (state.get("state") or {}).get("waiting") or {}
    return str(waiting.get("reason") or ""), str(waiting.get("message") or "")


def _image_trouble(pod: Object, state: dict[str, Any], events: Sequence[Object]) -> Trouble | None:
    reason, said = _waiting(state)
    if reason not in _IMAGE_REASONS:
        return None
    if reason == "ImagePullBackOff":
        # Older kubelets say only that they wait; why, they told in an event.
        pulls = [str(event.get("message")) for event in events if event.get("reason") == "Failed"]
        told = [text for text in pulls if text.startswith("Failed to pull image")]
        said = said if ": " in said or not told else told[-1]
    said = one_line(_LAYERS.sub("", said))
    return Trouble(
        reason="image-pull",
        message=f"the image {state.get('image')} of the pod {name_of(pod)} cannot be had:"
        f" {said or reason}",
        hint=first_match(f"{reason} {said}", _IMAGE_HINTS) or "",
        is_final=reason in _NEVER_AN_IMAGE or _REFUSED.search(said) is not None,
    )


def _configuration_trouble(pod: Object, state: dict[str, Any]) -> Trouble | None:
    reason, said = _waiting(state)
    if reason not in _CONFIGURATION_REASONS:
        return None
    # The kubelet names pod and container again in brackets.
    said = one_line(re.sub(r" \(pod: .*\)$", "", said))
    name = name_of(pod)
    return Trouble(
        reason="container-not-made",
        message=f"the container {state.get('name')} of the pod {name} cannot be made: {said}",
        hint=first_match(said, _CONFIGURATION_HINTS) or f"see kubectl describe pod {name}",
        is_final=reason == "CreateContainerConfigError",
    )


def _ending(pod: Object, state: dict[str, Any]) -> Trouble | None:
    ended = (state.get("state") or {}).get("terminated") or {}
    ended = ended or (state.get("lastState") or {}).get("terminated") or {}
    if not ended or ended.get("exitCode") == 0:
        return None
    restarts = int(state.get("restartCount") or 0)
    # One that runs again may still come to serve.
    is_given_up = restarts >= _ENOUGH_RESTARTS and "running" not in (state.get("state") or {})
    if ended.get("reason") == "OOMKilled":
        return _out_of_memory(pod, state, is_final=is_given_up)
    name, container = name_of(pod), str(state.get("name"))
    said = telling_line(ended.get("message"))
    again = f" again and again ({restarts} restarts)" if restarts > 1 else ""
    is_start_error = ended.get("reason") in {"StartError", "ContainerCannotRun"}
    how = "could not be started" if is_start_error else _exit(int(ended.get("exitCode") or 0))
    options = " --previous" if restarts else ""
    return Trouble(
        reason="not-started" if is_start_error else "crash-loop" if restarts else "ended",
        message=f"the container {container} of the pod {name} {how}{again}"
        + (f": {said}" if said else ""),
        hint=first_match(said, _ENDING_HINTS) or f"see kubectl logs {name} -c {container}{options}",
        is_final=is_start_error or is_given_up,
    )


def _exit(code: int) -> str:
    if code == _KILLED:
        return "was killed"
    return f"ended by signal {code - _SIGNALS}" if code > _SIGNALS else f"ended with code {code}"


def _out_of_memory(pod: Object, state: dict[str, Any], *, is_final: bool) -> Trouble:
    container = str(state.get("name"))
    limit = _memory_limit(pod, container)
    return Trouble(
        reason="oom-killed",
        message=f"the container {container} of the pod {name_of(pod)} was killed for its memory:"
        f" its limit is {limit}",
        hint="ask for more in resources.memory, or for less in shared_buffers, work_mem and"
        " max_connections",
        is_final=is_final,
    )


def _memory_limit(pod: Object, container: str) -> str:
    spec = pod.get("spec") or {}
    for one in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        if one.get("name") == container:
            limit = ((one.get("resources") or {}).get("limits") or {}).get("memory")
            if limit is not None:
                return units.write_bytes(int(limit)) if str(limit).isdigit() else str(limit)
    return "that of its node"
