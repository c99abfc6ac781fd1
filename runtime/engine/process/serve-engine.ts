// Runs a ready handler until its end: opens the listener, alone or on request of a supervisor, and drains. Made by
// main.ts.
import { superviseEngine } from './supervised.ts';
import type { Forwarder } from '../cluster/forwarder.ts';
import type { Placement } from '../cluster/placement.ts';
import type { Engine } from '../serving/engine.ts';
import type { Handler } from '../handler.ts';
import { chooseListener } from '../http/choose-listener.ts';
import type { Listener, ListenerOptions } from '../http/listener.ts';
import type { TelemetryRecorder } from '../telemetry/recorder.ts';
import type { EngineConfig } from './configuration.ts';
import type { InternalRoutes } from './internal-server.ts';

/** Dependencies. */
interface ServeEngineDeps {
  readonly config: EngineConfig;
  readonly engine: Engine;
  readonly handler: Handler;
  readonly forwarder: Forwarder;
  readonly placement: Placement;
  /** Routes that are only on the engine's Unix socket. */
  readonly routes: InternalRoutes;
  readonly telemetry: TelemetryRecorder;
  readonly onAssigned: (place: number | null) => void;
  /** @param reason the reason why the listener is node:http; null if it is another listener. */
  readonly onListening: (listener: Listener, reason: string | null) => void;
  readonly onFailure: (error: unknown) => void;
  /** Closes everything and ends the process. */
  readonly finish: () => Promise<void>;
}

/** Resolves with a function that drains, and then calls `finish`. */
export async function serveEngine(deps: ServeEngineDeps): Promise<() => Promise<void>> {
  const { config, engine, handler, telemetry, finish } = deps;
  const { open, reason } = await chooseListener(config.listener, config.folder);
  const listen = (options: Pick<ListenerOptions, 'port' | 'reusePort' | 'inherited'>): Promise<Listener> =>
    open({
      ...options,
      host: config.host,
      domains: config.domains,
      limits: config.limits,
      onExchange: handler.onExchange,
    });
  const onListening = (listener: Listener): void => deps.onListening(listener, reason);
  if (config.supervision === null) {
    const listener = await listen({ port: config.port });
    onListening(listener);
    process.send?.({ type: 'listening', port: listener.port, technology: listener.technology, reason });
    return () => listener.drain(config.limits.drainMs).then(finish);
  }
  const { drain } = await superviseEngine({
    supervision: config.supervision,
    limits: config.limits,
    domains: config.domains,
    handler,
    forwarder: deps.forwarder,
    placement: deps.placement,
    routes: deps.routes,
    lostThreads: engine.lostThreads,
    served: () => engine.counters.joined.requests,
    open: listen,
    onAssigned: deps.onAssigned,
    onListening,
    listenerReason: reason,
    onRecording(isOn) {
      if (isOn) telemetry.isOn = true;
      else telemetry.stop();
    },
    onFailure: deps.onFailure,
    onDrained: () => void finish(),
  });
  return () => drain(false);
}
