// The messages between the database service and its shards, apart from their sockets. Contains only types.
import type { Moment } from './lease-clock.ts';

/** Messages from the parent; those with an id are answered by `done`. */
export type ShardRequest =
  /**
   * The time until which its service may serve; null means no limit. With a time in the past, the shard stops serving
   * for now.
   */
  | { readonly type: 'lease'; readonly until: Moment | null }
  /** The service is the home of a project. */
  | { readonly type: 'serve'; readonly id: number; readonly project: string }
  /** Holds new requests of a project; answered when the project has no open transaction or copy. */
  | { readonly type: 'hold'; readonly id: number; readonly project: string; readonly msMax: number }
  /** Releases the held requests, here or on another machine. */
  | { readonly type: 'release'; readonly project: string; readonly isHome: boolean }
  /** The result of `confirm`: null when the changes are stored, otherwise the reason why not. */
  | { readonly type: 'confirmed'; readonly name: string; readonly problem: string | null };

/** Messages to the parent. */
export type ShardMessage =
  | { readonly type: 'listening' }
  | { readonly type: 'report'; readonly message: string }
  | { readonly type: 'changed'; readonly message: string }
  | { readonly type: 'done'; readonly id: number; readonly problem: string | null }
  /** Requests that everything committed so far is stored in the replica. */
  | { readonly type: 'confirm'; readonly name: string };
