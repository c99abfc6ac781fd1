// node:http: the client, over fetch. Servers throw when they are created (node-compat.ts writes those exports). Bundled
// into workers.
import { getOver, requestOver } from './http-client.ts';

export { Agent, globalAgent, maxHeaderSize, METHODS, STATUS_CODES } from 'unenv/node/http';
export { ClientRequest, IncomingMessage } from './http-client.ts';

export const request = /* @__PURE__ */ requestOver('http:');
export const get = /* @__PURE__ */ getOver('http:');

export function validateHeaderName(name: string): void {
  if (!/^[!#$%&'*+\-.^_`|~\w]+$/.test(name))
    throw Object.assign(new TypeError(`Header name must be a valid HTTP token ["${name}"]`), {
      code: 'ERR_INVALID_HTTP_TOKEN',
    });
}

export function validateHeaderValue(name: string, value: unknown): void {
  if (value === undefined)
    throw Object.assign(new TypeError(`Invalid value "undefined" for header "${name}"`), {
      code: 'ERR_HTTP_INVALID_HEADER_VALUE',
    });
  // oxlint-disable-next-line no-control-regex
  if (/[^\t\x20-\x7e\x80-\xff]/.test(String(value)))
    throw Object.assign(new TypeError(`Invalid character in header content ["${name}"]`), { code: 'ERR_INVALID_CHAR' });
}
