// The state of replicas that the database service writes to its folder, for `platform doctor`.
import path from 'node:path';
import { readJson } from './platform-record.ts';

/** Name of the file. */
export const REPLICAS_FILE = '.replicas.json';

/** How replication goes. */
interface ReplicaState {
  /** ISO 8601. */
  readonly at: string;
  /** Age of the oldest change that is not replicated yet; 0 if there is none. */
  readonly lagMs: number;
  /** Databases with unreplicated changes. */
  readonly waiting: number;
  /** Why replication is interrupted; null means it works. */
  readonly problem: string | null;
}

/** @returns null if no database of this folder was ever replicated. */
export function readReplicaState(folder: string): ReplicaState | null {
  return readJson(path.join(folder, REPLICAS_FILE)) as ReplicaState | null;
}
