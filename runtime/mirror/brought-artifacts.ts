// Copies artifacts from the shared store to this machine: immediately if a record waits for them, and otherwise one at
// a time in the background. Part of mirror.ts.
import type { Logger } from 'pino';
import { hasArtifact } from '#artifacts/store/artifact-store-disk.ts';
import type { ArtifactStore } from '#artifacts/store/artifact-store.ts';
import { isFailure } from '#core/failure.ts';
import { createLimited } from './limited.ts';

/** Maximum number of concurrent copies, so that a slow store delays at most this many. */
const FETCHES_MAX = 8;
/** Missing artifacts are reported again after the next complete comparison. */
const GONE: ReadonlySet<string> = new Set(['missing', 'damaged']);

interface BroughtDeps {
  /** `FS_PATH`. */
  readonly folder: string;
  readonly store: ArtifactStore;
  readonly log: Pick<Logger, 'error'>;
  readonly stopping: AbortSignal;
}

/** Artifacts that are being copied. */
interface BroughtArtifacts {
  readonly fetched: number;
  readonly failures: number;
  /** Number of artifacts that must still be copied. */
  readonly later: number;
  /**
   * Resolves when the artifacts are copied. Artifacts that are missing in the store are reported, and the record is
   * written without them.
   *
   * @throws {Failure} `artifact_store` if the store is unavailable or refuses.
   */
  bring(ids: Iterable<string>): Promise<void>;
  /** Copies artifacts in the background, while no record waits for any. */
  bringLater(ids: Iterable<string>): void;
  /** Retries failed copies. */
  again(): void;
}

export function createBroughtArtifacts({ folder, store, log, stopping }: BroughtDeps): BroughtArtifacts {
  const limited = createLimited(FETCHES_MAX);
  const later = new Set<string>();
  let isBringing = false;
  let [fetched, failures] = [0, 0];

  async function fetch(id: string): Promise<void> {
    if (await hasArtifact(folder, id)) return;
    try {
      await limited(() => store.fetch(id));
      fetched++;
    } catch (error) {
      failures++;
      if (!isFailure(error, 'artifact_store') || !GONE.has(error.reason)) throw error;
      log.error(
        { artifact: id, reason: error.message },
        'Artifact could not be copied to this machine: its deployments answer 503',
      );
    }
  }

  async function bringAll(): Promise<void> {
    for (const id of later) {
      if (stopping.aborted) return;
      await fetch(id);
      later.delete(id);
    }
  }

  function again(): void {
    if (isBringing || later.size === 0) return;
    isBringing = true;
    void bringAll()
      .catch((error: Error) =>
        log.error({ reason: error.message, left: later.size }, 'Older artifacts could not be copied to this machine'),
      )
      .finally(() => (isBringing = false));
  }

  return {
    get fetched() {
      return fetched;
    },
    get failures() {
      return failures;
    },
    get later() {
      return later.size;
    },
    async bring(ids) {
      await Promise.all([...ids].map(fetch));
    },
    bringLater(ids) {
      for (const id of ids) later.add(id);
      again();
    },
    again,
  };
}
