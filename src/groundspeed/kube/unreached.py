"""Why a server was not reached, as one line of what and one line of what to do."""

from __future__ import annotations

import ssl

_NETWORK = "is it running, and is this machine in its network? kubectl cluster-info asks it too"
_PROXY = "look at HTTPS_PROXY and NO_PROXY, and at proxy-url in the kubeconfig"
_CERTIFICATE = "look at certificate-authority and tls-server-name in the kubeconfig"
_ADDRESS = "look at the server of the cluster in the kubeconfig"


class LostError(Exception):
    """No answer came. `was_sent`: it may have been carried out all the same."""

    def __init__(self, words: str, hint: str, *, was_sent: bool, is_final: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.hint = hint
        self.was_sent = was_sent
        self.is_final = is_final


def lost(error: Exception, host: str, read_limit_s: float) -> LostError:
    """Say why no answer came. The order matters: some are kinds of the next one."""
    from urllib3 import exceptions as of  # noqa: PLC0415 - see connecting

    late = f"nothing came within {read_limit_s:.0f} s"
    table: tuple[tuple[type[Exception], str, str, bool, bool], ...] = (
        # kind, words, hint, was sent, is final
        (of.NameResolutionError, "its name is not known", _NETWORK, False, False),
        (of.NewConnectionError, reason(error), _NETWORK, False, False),
        (of.ConnectTimeoutError, "the connection is not taken up", _NETWORK, False, False),
        (of.ProxyError, f"the proxy on the way: {error}", _PROXY, False, False),
        (of.SSLError, f"TLS: {reason(error)}", *_tls_hint(error)),
        (of.LocationValueError, "that is no address", _ADDRESS, False, True),
        (of.ReadTimeoutError, late, _NETWORK, True, False),
        (Exception, f"the connection was lost: {reason(error)}", _NETWORK, True, False),
    )
    _, words, hint, was_sent, is_final = next(row for row in table if isinstance(error, row[0]))
    return LostError(f"{words} ({host})", hint, was_sent=was_sent, is_final=is_final)


def _tls_hint(error: Exception) -> tuple[str, bool, bool]:
    """Tell a certificate nobody trusts from a connection that was lost: that may come again."""
    inner = error.args[0] if error.args else None
    is_file = isinstance(inner, OSError) and not isinstance(inner, ssl.SSLError)
    if is_file or isinstance(inner, ssl.SSLCertVerificationError):
        return _CERTIFICATE, False, True
    return _NETWORK, True, False


def reason(error: BaseException) -> str:
    """Take what the system said out of what urllib3 tells around it."""
    inner = error.__cause__ or (error.args[-1] if error.args else None)
    if isinstance(inner, BaseException) and inner is not error:
        return reason(inner)
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return text.rpartition("] ")[2].lower()
