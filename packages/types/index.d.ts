// Types of workers on the platform. Everything that a worker's author imports is here. The Web APIs come from
// TypeScript's own library for workers (why: README.md).
/// <reference lib="webworker" />
/// <reference lib="webworker.iterable" />
/// <reference lib="webworker.asynciterable" />

export type * from './ai.d.ts';
export type * from './auth.d.ts';
export type * from './cache.d.ts';
export type * from './database.d.ts';
export type * from './files.d.ts';
export type * from './hyperdrive.d.ts';
export type * from './objects.d.ts';
export type * from './process.d.ts';
export type * from './queue.d.ts';
export type * from './sandbox.d.ts';
export type * from './service.d.ts';
export type * from './state.d.ts';
export type * from './timer.d.ts';
export type * from './web.d.ts';
export type * from './websocket.d.ts';
export type * from './worker.d.ts';
export type * from './workflow.d.ts';
