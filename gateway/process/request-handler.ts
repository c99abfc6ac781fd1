// Determines the caller by socket. External callers send a token; engines name the caller, but only on their own
// socket.
import { AI_CALLER_HEADER, decodeCaller } from '#core/ai-caller.ts';
import type { Gateway } from '../contract/contract.ts';
import { errorResponse, GatewayError } from '../contract/errors.ts';
import type { CallCounts } from './counts.ts';

const AGAIN_MS = 1000;

/** Server state attached to a request. */
interface Served {
  readonly runtime?: { readonly node?: { readonly res?: { once(event: 'close', listener: () => void): unknown } } };
}

interface Parts {
  readonly gateway: Gateway;
  readonly counts: CallCounts;
  readonly callsMax: number;
  /** Whether clients of this socket may name the caller. */
  readonly isForEngines: boolean;
}

export function createRequestHandler({
  gateway,
  counts,
  callsMax,
  isForEngines,
}: Parts): (request: Request) => Promise<Response> {
  return async (request) => {
    if (counts.running >= callsMax)
      return errorResponse(
        new GatewayError('rate_limit_exceeded', `The gateway already has ${callsMax} running calls`, {
          retryAfterMs: AGAIN_MS,
        }),
      );
    const end = counts.begin();
    let status = 500;
    (request as Served).runtime?.node?.res?.once('close', () => end(status));
    const said = isForEngines ? request.headers.get(AI_CALLER_HEADER) : null;
    const caller = said === null ? null : decodeCaller(said);
    const response =
      said !== null && caller === null
        ? errorResponse(new GatewayError('invalid_request', `The header ${AI_CALLER_HEADER} is not valid`))
        : await (caller === null ? gateway.fetch(request) : gateway.fetch(request, caller));
    ({ status } = response);
    return response;
  };
}
