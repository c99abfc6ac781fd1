// Formats gateway errors for the AI SDK's gateway client: the envelope is the same, and `type` selects the error class.
// Types unknown to the client become a GatewayInternalServerError.
import type { Json } from '../../contract/chat.ts';
import { errorBody, type GatewayError, type GatewayErrorCode } from '../../contract/errors.ts';

const types: Partial<Record<GatewayErrorCode, string>> = {
  invalid_api_key: 'authentication_error',
  token_expired: 'authentication_error',
  model_not_allowed: 'forbidden',
  model_not_found: 'model_not_found',
  route_not_found: 'not_found',
  rate_limit_exceeded: 'rate_limit_exceeded',
  insufficient_quota: 'rate_limit_exceeded',
};

/** @param model the model that the request names, or null. */
export function sdkErrorBody(failure: GatewayError, model: string | null): Json {
  const { error } = errorBody(failure);
  const isOfRequest = failure.status >= 400 && failure.status < 500;
  const type = types[failure.code] ?? (isOfRequest ? 'invalid_request_error' : 'internal_server_error');
  return { error: { ...error, type, param: type === 'model_not_found' ? { modelId: model } : error['param'] } };
}

/** Converts the error frame of a chat-completions stream to an error part. */
export function sdkStreamError(error: Json): Json {
  const type = types[error['code'] as GatewayErrorCode] ?? 'internal_server_error';
  return { message: error['message'], type, code: error['code'] };
}
