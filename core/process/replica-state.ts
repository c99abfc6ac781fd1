// What the database service notes of its replicas in the folder of the databases, for `platform doctor`.
import path from 'node:path';
import { readJson } from './platform-record.ts';

/** Name of the file. */
export const REPLICAS_FILE = '.replicas.json';

/** How replication goes. */
interface ReplicaState {
  /** ISO 8601. */
  readonly at: string;
  /** How long the oldest change that is not stored yet waits; 0: all are stored. */
  readonly lagMs: number;
  /** Databases with such changes. */
  readonly waiting: number;
  /** Why it does not go on; null: it does. */
  readonly problem: string | null;
}

/** @returns null: nothing was ever replicated from this folder. */
export function readReplicaState(folder: string): ReplicaState | null {
  return readJson(path.join(folder, REPLICAS_FILE)) as ReplicaState | null;
}
