// node:http: the client, over fetch. Servers throw when they are made (node-compat.ts writes those exports).
// Bundled into workers.
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
