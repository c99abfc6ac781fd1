// node:https: like node:http, for https URLs. Bundled into workers by node-compat.ts.
import { getOver, requestOver } from './http-client.ts';

export { Agent, globalAgent } from 'unenv/node/https';

export const request = /* @__PURE__ */ requestOver('https:');
export const get = /* @__PURE__ */ getOver('https:');
