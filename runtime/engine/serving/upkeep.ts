// Periodic checks while deployments serve: entries that do not end, invocations over their wall limit, and an
// overloaded engine. Started by handler.ts, and independent of single requests.
import type { Limits } from '#core/limits.ts';
import { CHECK_MS } from '../isolates/stuck-entry.ts';
import type { Deployment } from './deployment.ts';
import { Shedder } from './shedding.ts';

const WALL_MS = 1000;
const SHED_MS = 250;

/** Dependencies of the checks. */
interface UpkeepDeps {
  readonly limits: Pick<Limits, 'engineRequestsMax' | 'engineLagMsMax'>;
  readonly deployments: () => Iterable<Deployment>;
  /** Whether an entry is running in any isolate. */
  readonly isEntered: () => boolean;
  /** Called before running entries are checked. */
  readonly beforeAlive: () => void;
  /** Called about once a second, after the wall limits. */
  readonly onWall: () => void;
}

/** The periodic checks, until `close`. */
export interface Upkeep {
  /** How many requests each deployment may have while the engine is overloaded; infinite otherwise. */
  readonly share: number;
  close(): void;
}

export function startUpkeep({ limits, deployments, isEntered, beforeAlive, onWall }: UpkeepDeps): Upkeep {
  const alive = setInterval(() => {
    if (!isEntered()) return;
    beforeAlive();
    for (const { lanes } of deployments()) lanes.checkAlive();
  }, CHECK_MS).unref();
  const wall = setInterval(() => {
    const now = performance.now();
    for (const { lanes } of deployments()) lanes.checkWall(now);
    onWall();
  }, WALL_MS).unref();

  const shedder = new Shedder(limits);
  let checkedAt = performance.now();
  const shed = setInterval(() => {
    const now = performance.now();
    const lagMs = now - checkedAt - SHED_MS;
    checkedAt = now;
    const loads: number[] = [];
    for (const { lanes } of deployments()) {
      const { busy } = lanes;
      if (busy > 0) loads.push(busy);
    }
    const before = shedder.share;
    const share = shedder.look(loads, lagMs);
    if (share !== before) for (const deployment of deployments()) deployment.admitted = share;
  }, SHED_MS).unref();

  return {
    get share() {
      return shedder.share;
    },
    close() {
      clearInterval(alive);
      clearInterval(wall);
      clearInterval(shed);
    },
  };
}
