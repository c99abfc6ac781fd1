// What the database service and its shards tell each other beside the sockets. Types alone.
import type { Moment } from './lease-clock.ts';

/** Messages from the parent; those with an id are answered by `done`. */
export type ShardRequest =
  /** Until when its service may serve; null: for as long as it runs. In the past: no more, for now. */
  | { readonly type: 'lease'; readonly until: Moment | null }
  /** The service is the home of a project. */
  | { readonly type: 'serve'; readonly id: number; readonly project: string }
  /** Requests of a project wait from now on; answered when nothing of it is open any more. */
  | { readonly type: 'hold'; readonly id: number; readonly project: string; readonly msMax: number }
  /** They go on here, or elsewhere. */
  | { readonly type: 'release'; readonly project: string; readonly isHome: boolean }
  /** What was asked by `confirm` is stored; or why it is not. */
  | { readonly type: 'confirmed'; readonly name: string; readonly problem: string | null };

/** Messages to the parent. */
export type ShardMessage =
  | { readonly type: 'listening' }
  | { readonly type: 'report'; readonly message: string }
  | { readonly type: 'changed'; readonly message: string }
  | { readonly type: 'done'; readonly id: number; readonly problem: string | null }
  /** All that is committed now is to be stored in the replica. */
  | { readonly type: 'confirm'; readonly name: string };
