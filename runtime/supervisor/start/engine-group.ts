// All engines of this supervisor, their crash ledger, and their reports: usage and telemetry. Made by main.ts.
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { SentHandle } from '#core/process/socket-activation.ts';
import type { UsageLedger } from '../private-port/usage.ts';
import { TelemetryBuffer } from '../private-port/telemetry.ts';
import { EngineWatch } from '../quarantine/watch.ts';
import type { SupervisorConfig } from '../engines/configuration.ts';
import { EngineProcess } from '../engines/engine-process.ts';
import { Engines } from '../engines/engines.ts';
import type { FromEngine } from '../engines/messages.ts';

/** Dependencies and callbacks of the engines. */
interface EngineGroupDeps {
  readonly config: SupervisorConfig;
  /** The claimed public port. */
  readonly port: number;
  /** The listening socket that engines share; null means that each engine opens its own. */
  readonly socket: SentHandle | null;
  /** Variables of engines that start from now on. */
  readonly environment: Readonly<Record<string, string>>;
  /** Private folder of sockets. */
  readonly sockets: string;
  /** Folder of the crash ledger; '' stores none. */
  readonly ledgerFolder: string;
  readonly usage: UsageLedger;
  readonly log: Logger;
  /** Called when a serving engine accepts requests. */
  readonly onListening: (engine: EngineProcess) => void;
  /** Called when no engine can start with this configuration. */
  readonly onFatal: (code: number) => void;
  /** Called when an engine needs an on-demand service. */
  readonly onWantService: (name: string) => void;
  /** Called with the last metrics of an engine that ends. */
  readonly onReport: (engine: number, report: ReportMessage['report']) => void;
}

type ReportMessage = Extract<FromEngine, { readonly type: 'report' }>;

/** The engines, and the parts that monitor them. */
export interface EngineGroup {
  readonly engines: Engines;
  readonly watch: EngineWatch;
  readonly telemetry: TelemetryBuffer;
}

const script = join(import.meta.dirname, `../../engine/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`);

/** Creates the engines; `engines.start` starts them. */
export function createEngineGroup(deps: EngineGroupDeps): EngineGroup {
  const { config, port, environment, sockets, ledgerFolder, usage, log } = deps;
  const { limits } = config;
  const telemetry = new TelemetryBuffer({
    heldBytesMax: limits.telemetry.heldBytesMax,
    unaskedMs: limits.telemetry.unaskedMs,
    onRecording: (isOn) => engines.broadcast({ type: 'recording', isOn }),
  });
  const watch = new EngineWatch({ engines: () => engines, limits, ledgerFolder, log });
  const engines: Engines = new Engines({
    create: (callbacks) =>
      new EngineProcess({
        ...callbacks,
        script,
        environment,
        sockets,
        onExit(engine, code, signal) {
          callbacks.onExit(engine, code, signal);
          watch.exited(engine, signal);
        },
        onClosed(engine) {
          callbacks.onClosed(engine);
          watch.closed(engine);
        },
      }),
    processes: config.processes,
    spares: config.spares,
    port,
    socket: deps.socket,
    drainMs: limits.drainMs,
    onChange: () => watch.tell(),
    onAssigned(engine) {
      engine.send(watch.clusterState());
      if (!telemetry.isOn) engine.send({ type: 'recording', isOn: false });
    },
    onListening(engine) {
      if (typeof engine.place === 'string') watch.serving(engine.place);
      else deps.onListening(engine);
    },
    onDeath: (engine, code, signal, delayMs) => watch.died(engine, code, signal, delayMs),
    onFatal: deps.onFatal,
    onMessage(engine, message) {
      if (message.type === 'note') {
        note(engine, message);
        if (typeof engine.place === 'string') watch.served(engine.place, message.served);
      } else if (message.type === 'want') watch.want(message.deployment);
      else if (message.type === 'want-service') deps.onWantService(message.service);
      else if (message.type === 'report') deps.onReport(engine.id, message.report);
      else if (message.type === 'usage') usage.add(message.rows);
      else if (message.type === 'telemetry') telemetry.add(message.records);
      else if (message.type === 'lost-thread') watch.lostThread(engine, message);
      else if (message.type === 'recycle') watch.recycle(engine, message.reason, message.blamed);
    },
  });
  return { engines, watch, telemetry };
}

function note(engine: EngineProcess, message: Extract<FromEngine, { readonly type: 'note' }>): void {
  if (message.served > engine.served) engine.lastServedAt = Date.now();
  const { running, load, served, forwarded, lostThreads } = message;
  Object.assign(engine, { running, load, served, forwarded, lostThreads });
}
