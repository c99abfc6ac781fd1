// Announces this machine to the other machines in Postgres, and drains it when an operator requests it. Made by
// main.ts.
import type { Logger } from 'pino';
import type { MachineLook } from '#postgres/machine.ts';
import type { SupervisorConfig } from '../engines/configuration.ts';
import { originOf } from '../private-port/settings.ts';
import { startAnnouncement, type Announcement } from './announce.ts';
import { keyIdsOf, machineSettings, type MachineSettings } from './settings.ts';

interface OwnMachineDeps {
  readonly environment: NodeJS.ProcessEnv;
  readonly config: SupervisorConfig;
  readonly version: string;
  /** Address of the private port, or null. */
  readonly privateHost: string | null;
  readonly log: Logger;
  /** Ends the engines: running requests finish, WebSockets close with 1012. */
  readonly stopEngines: () => Promise<void>;
  /** Handlers that the edge of this machine sends requests to, as `host:port`. @param at for `edgeReadAt`. */
  readonly onServing: (upstreams: readonly string[], at: string) => void;
  readonly edgeReadAt: () => string | null;
  /** Age of the routes of this machine; null if no mirror runs here. */
  readonly routesAgeSeconds: () => number | null;
  /** Called when this machine may not be a part of the installation. */
  readonly onRefused: (reason: string) => void;
}

/** Sets the ports and parts, which are known when all parts run. */
interface RunningParts {
  readonly url: string;
  readonly privatePort: number | null;
  readonly port: number;
  readonly services: readonly string[];
}

/** This machine. */
interface OwnMachine {
  readonly settings: MachineSettings;
  /** Origin of the private port for other machines; null if it is not reachable. */
  origin(privatePort: number | null): string | null;
  start(running: RunningParts): void;
  /** Whether the machine takes no new requests. */
  readonly isDraining: boolean;
  close(): Promise<void>;
}

/**
 * Number of announcements as draining before the engines end, so that the operator's proxies notice it in the health
 * check.
 */
const LOOKS_MIN = 2;

/** @throws {Error} for invalid settings. */
export function createOwnMachine(deps: OwnMachineDeps): OwnMachine {
  const { environment, config, log } = deps;
  const serves = config.parts.has('handler');
  const settings = machineSettings(environment, {
    ...(deps.privateHost !== null && { HOST: deps.privateHost }),
    ...(serves && { HANDLER_HOST: config.host }),
  });
  let announcement: Announcement | null = null;
  let drainLooks = 0;
  let drainedFrom = 0;
  let isEnding = false;
  let announcedAs = '';
  let ownPort = 0;

  const origin = (privatePort: number | null): string | null =>
    settings.address === null || privatePort === null ? null : `http://${settings.address}:${privatePort}`;

  function onLook(look: MachineLook): void {
    if (announcedAs !== look.name) log.info({ machine: look.name }, 'Machine announced');
    announcedAs = look.name;
    deps.onServing(upstreamsOf(look), look.at);
    if (look.state === 'up') return;
    if (drainLooks++ === 0) {
      drainedFrom = performance.now();
      log.info({ machine: look.name }, 'Machine draining');
    }
    const isLate = performance.now() - drainedFrom > config.limits.machine.edgesMsMax;
    if (isEnding || drainLooks < LOOKS_MIN || !(look.isLeftByEdges || isLate)) return;
    isEnding = true;
    void deps.stopEngines().then(() => {
      log.info({ machine: look.name }, 'Machine drained');
      announcement?.setDrained();
    });
  }

  /** All edges use one address for a handler, so that they send a host to the same handler. */
  function upstreamsOf({ state, serving }: MachineLook): string[] {
    const local =
      serves && state === 'up' && settings.address === null ? [new URL(originOf(config.host, ownPort)).host] : [];
    return [...local, ...serving.map(({ upstream }) => upstream)];
  }

  return {
    settings,
    origin,
    start({ url, privatePort, port, services }) {
      ownPort = port;
      const names = services.map((name) => (name === 'ssr' ? 'servers' : name));
      announcement = startAnnouncement({
        url,
        facts: {
          name: settings.name,
          isNameChosen: settings.isNameChosen,
          privateOrigin: origin(privatePort),
          upstream: serves && settings.address !== null ? `${settings.address}:${port}` : null,
          parts: [...(serves ? ['handler'] : []), ...names],
          version: deps.version,
          keyIds: keyIdsOf(environment['ENCRYPTION_KEY'] ?? ''),
          clockMsMax: config.limits.machine.clockMsMax,
        },
        folder: config.folder,
        edgeReadAt: deps.edgeReadAt,
        routesAgeSeconds: deps.routesAgeSeconds,
        onLook,
        onRefused: deps.onRefused,
        log,
      });
    },
    get isDraining() {
      return drainLooks > 0;
    },
    async close() {
      await announcement?.close();
    },
  };
}
