// WebSocket handshakes for both listeners: detects them, parses their headers, and chooses the sub-protocol.
import type { ResponseHead } from './header-block.ts';

/**
 * Whether a request is a WebSocket handshake that can be answered with 101 (RFC 6455 4.2.1). Any other request for an
 * upgrade is a normal request (RFC 9110 7.8). Names in lower case.
 */
export function isWebSocketHandshake(method: string, header: (name: string) => string | null): boolean {
  return (
    method === 'GET' &&
    header('upgrade')?.toLowerCase() === 'websocket' &&
    /(?:^|[\s,])upgrade(?:[\s,]|$)/i.test(header('connection') ?? '') &&
    header('sec-websocket-version') === '13' &&
    /^[A-Za-z0-9+/]{21}[AQgw]==$/.test(header('sec-websocket-key') ?? '') &&
    header('content-length') === null &&
    header('transfer-encoding') === null &&
    areTokens(header('sec-websocket-protocol'))
  );
}

function areTokens(list: string | null): boolean {
  if (list === null) return true;
  const tokens = list.split(',').map((token) => token.trim());
  return tokens.every((token) => /^[a-z0-9!#$%&'*+\-.^_`|~]+$/i.test(token)) && new Set(tokens).size === tokens.length;
}

/** The WebSocket headers in a handshake's header block. A list may be split over several headers. */
export function handshakeHeaders(block: string): Record<string, string | undefined> {
  const headers: Record<string, string> = {};
  const fields = block.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string;
    if (name !== 'upgrade' && !name.startsWith('sec-websocket-')) continue;
    headers[name] = name in headers ? `${headers[name]}, ${fields[at + 1]}` : (fields[at + 1] as string);
  }
  return headers;
}

/** The sub-protocol that a worker chose; null if it chose none, or one that its client did not offer. */
export function chosenProtocol(
  head: ResponseHead,
  handshake: Readonly<Record<string, string | undefined>>,
): string | null {
  const at = head.pairs.indexOf('sec-websocket-protocol');
  const chosen = at < 0 || at % 2 === 1 ? undefined : head.pairs[at + 1];
  const offered = (handshake['sec-websocket-protocol'] ?? '').split(',').map((token) => token.trim());
  return chosen !== undefined && offered.includes(chosen) ? chosen : null;
}
