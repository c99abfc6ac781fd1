// node:events: unenv's emitter with the functions that unenv has only as static methods. Bundled by node-compat.ts.
import { EventEmitter } from 'unenv/node/events';

export * from 'unenv/node/events';
export const setMaxListeners = EventEmitter.setMaxListeners;
export const listenerCount = EventEmitter.listenerCount;
export default EventEmitter;
