"""The table of all plain scripts."""

from __future__ import annotations

from collections.abc import Callable

from tests.tasks.contract.blind import grants, links, patience, sessions, signing, tokens
from tests.tasks.contract.blind.service import Service

Script = Callable[[Service], None]

SCRIPTS: dict[str, Script] = {
    "adversarial-shortcut-injection": links.adversarial_shortcut_injection,
    "api-key-rotation": tokens.api_key_rotation,
    "api-rate-limit-patience": patience.api_rate_limit_patience,
    "basic-oauth-token": tokens.basic_oauth_token,
    "cascading-token-revocation": tokens.cascading_token_revocation,
    "certificate-pinning-handshake": signing.certificate_pinning_handshake,
    "constraint-overload-protocol": signing.constraint_overload_protocol,
    "content-negotiation-chain": signing.content_negotiation_chain,
    "csrf-form-submit": sessions.csrf_form_submit,
    "cumulative-hash-chain": signing.cumulative_hash_chain,
    "cursor-pagination-integrity": patience.cursor_pagination_integrity,
    "distributed-lock-acquire": sessions.distributed_lock_acquire,
    "etag-conditional-get": patience.etag_conditional_get,
    "event-sourced-consistency": sessions.event_sourced_consistency,
    "extreme-url-length": links.extreme_url_length,
    "idempotency-key-retry": patience.idempotency_key_retry,
    "long-token-handling": links.long_token_handling,
    "multi-resource-priority": links.multi_resource_priority,
    "multi-service-saga": sessions.multi_service_saga,
    "multi-token-workflow": sessions.multi_token_workflow,
    "multi-turn-recall": links.multi_turn_recall,
    "oauth-authorization-code": grants.oauth_authorization_code,
    "oauth-pkce-with-rotation": grants.oauth_pkce_with_rotation,
    "presigned-url-download": links.presigned_url_download,
    "presigned-url-integrity": links.presigned_url_integrity,
    "retry-backoff-compliance": patience.retry_backoff_compliance,
    "scattered-url-assembly": links.scattered_url_assembly,
    "scheduled-maintenance": patience.scheduled_maintenance,
    "session-cookie-chain": sessions.session_cookie_chain,
    "signed-request-canonicalization": signing.signed_request_canonicalization,
    "token-refresh-workflow": tokens.token_refresh_workflow,
    "url-trap-ellipsis": links.url_trap_ellipsis,
    "webhook-hmac-verify": signing.webhook_hmac_verify,
}
