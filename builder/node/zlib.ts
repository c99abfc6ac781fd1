// node:zlib, combined from its parts. Bundled into workers by node-compat.ts.
export { constants } from 'unenv/node/zlib';
export * from './zlib-whole.ts';
export * from './zlib-streams.ts';
