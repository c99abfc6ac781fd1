// node:https: as node:http, with another scheme. Bundled into workers by node-compat.ts.
import { getOver, requestOver } from './http-client.ts';

export { Agent, globalAgent } from 'unenv/node/https';

export const request = /* @__PURE__ */ requestOver('https:');
export const get = /* @__PURE__ */ getOver('https:');
