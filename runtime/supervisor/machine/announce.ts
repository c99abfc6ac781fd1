// Announces this machine in Postgres for as long as the supervisor runs. Started by main.ts when the database is ready;
// the library is loaded only then.
import { statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { machineMemory } from '#core/process/machine-memory.ts';
import type { AnnouncedMachine, MachineFacts, MachineFigures, MachineLook } from '#postgres/machine.ts';

interface AnnounceDeps {
  readonly url: string;
  readonly facts: MachineFacts;
  /** Data folder, whose disk is measured. */
  readonly folder: string;
  readonly edgeReadAt: () => string | null;
  readonly routesAgeSeconds: () => number | null;
  readonly onLook: (look: MachineLook) => void;
  readonly onRefused: (reason: string) => void;
  readonly log: Logger;
}

/** The announcement. */
export interface Announcement {
  setDrained(): void;
  close(): Promise<void>;
}

const AGAIN_MS = 2000;
/** A problem is logged once, until the announcement works again. */
const QUIET_MS = 60_000;

/** Announces the machine; while Postgres is unavailable, it keeps trying. */
export function startAnnouncement(deps: AnnounceDeps): Announcement {
  const { folder, log } = deps;
  const stopping = new AbortController();
  let machine: AnnouncedMachine | null = null;
  let figures: MachineFigures = {
    memoryBytes: machineMemory(),
    memoryFreeBytes: freemem(),
    diskBytes: 0,
    diskFreeBytes: 0,
    routesAgeSeconds: null,
  };
  let loggedAt = -Infinity;
  const onTrouble = (error: unknown): void => {
    if (stopping.signal.aborted || performance.now() - loggedAt < QUIET_MS) return;
    loggedAt = performance.now();
    log.warn({ reason: (error as Error).message }, 'Machine not announced, retrying');
  };

  /** The disk is measured independently of announcements, which must not wait for it. */
  async function measure(): Promise<void> {
    try {
      const { bsize, blocks, bavail } = await statfs(folder === '' ? '/' : folder);
      figures = { ...figures, diskBytes: bsize * blocks, diskFreeBytes: bsize * bavail };
    } catch {
      // If this fails, the figures of the last measurement stay.
    }
  }

  async function start(): Promise<void> {
    const { announceMachine } = await import('#postgres/machine.ts');
    await measure();
    while (!stopping.signal.aborted) {
      try {
        machine = await announceMachine({
          url: deps.url,
          facts: deps.facts,
          figures: () => ({
            ...figures,
            memoryFreeBytes: Math.min(freemem(), figures.memoryBytes),
            routesAgeSeconds: deps.routesAgeSeconds(),
          }),
          edgeReadAt: deps.edgeReadAt,
          onLook(look) {
            void measure();
            deps.onLook(look);
          },
          onRefused: deps.onRefused,
          onTrouble,
        });
        return;
      } catch (error) {
        onTrouble(error);
        await pause(AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => {});
      }
    }
  }

  const starting = start();
  return {
    setDrained: () => machine?.setDrained(),
    async close() {
      stopping.abort();
      await starting;
      await machine?.close();
    },
  };
}
