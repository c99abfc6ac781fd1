// An engine's half of supervision: it boots, waits for an assignment, opens its sockets, reports running deployments,
// and hands over or drains on request. main.ts calls it if a supervisor started the process. Only handles the process,
// not requests.
import { flushCompileCache } from 'node:module';
import type { Limits } from '#core/limits.ts';
import type { Supervision } from './configuration.ts';
import type { Forwarder } from '../cluster/forwarder.ts';
import type { Placement } from '../cluster/placement.ts';
import { linkOf } from '../cluster/engine-link.ts';
import { openReceiver, type Receiver } from '../cluster/receiver.ts';
import type { Handler } from '../handler.ts';
import type { Listener, ListenerOptions } from '../http/listener.ts';
import type { LostThreads } from '../isolates/lost-threads.ts';
import { openInternal, type InternalRoutes } from './internal-server.ts';
import type { SentHandle } from '#core/process/socket-activation.ts';
import type { FromEngine, ToEngine } from '../../supervisor/engines/messages.ts';

/** Dependencies of supervision. */
interface SupervisedDeps {
  readonly supervision: Supervision;
  readonly limits: Limits;
  /** The platform's own. */
  readonly domains: readonly string[];
  readonly handler: Handler;
  readonly forwarder: Forwarder;
  readonly placement: Placement;
  readonly routes: InternalRoutes;
  readonly lostThreads: Pick<LostThreads, 'count' | 'takeLost' | 'replacement'>;
  /** Number of invocations started so far. */
  readonly served: () => number;
  readonly open: (options: Pick<ListenerOptions, 'port' | 'reusePort' | 'inherited'>) => Promise<Listener>;
  /** Number of this engine among the serving engines; null for a quarantine engine. */
  readonly onAssigned: (place: number | null) => void;
  readonly onListening: (listener: Listener) => void;
  /** Why the listener is node:http, or null. */
  readonly listenerReason: string | null;
  /** Whether log lines and invocations are to be recorded. */
  readonly onRecording: (isOn: boolean) => void;
  /** Called when the engine cannot continue. */
  readonly onFailure: (error: Error) => void;
  /** Called when all requests are served: ends the process. */
  readonly onDrained: () => void;
}

/**
 * Interval at which running deployments are checked, and number of checks after which the supervisor is notified even
 * without a change.
 */
const NOTE_MS = 100;
const NOTES_PER_REPORT = 10;
/** Maximum number of deployments in a notification. */
const RUNNING_MAX = 50;
const LOAD_MS = 20;
/** How long after its start a spare engine is considered idle. */
const SPARE_QUIET_MS = 3000;

/** Opens the private sockets and reports that the engine can be assigned. `drain` is for signals. */
export async function superviseEngine(deps: SupervisedDeps): Promise<{ drain(patient: boolean): Promise<void> }> {
  const { supervision, handler, forwarder, placement, limits } = deps;
  const say = (message: FromEngine, handle?: object | null): void => {
    if (process.connected) process.send?.(message, (handle ?? undefined) as never, {}, () => {});
  };
  let listener: Listener | null = null;
  /** Functions that stop accepting connections of dead engines' sockets, by engine number. */
  const adopted = new Map<number, () => void>();
  let draining = false;
  const receiver: Receiver = await openReceiver({
    path: linkOf(supervision),
    domains: deps.domains,
    onExchange: handler.serveHere,
  });
  const internal = await openInternal(`${supervision.sockets}.http`, deps.routes);

  // Makes Node's compile cache available to the next process even if this one is killed. The first time, this takes a
  // tenth of a second, so it only runs while no request is served.
  const keep = setTimeout(flushCompileCache, SPARE_QUIET_MS).unref();

  async function assign(message: ToEngine & { type: 'assign' }, handle: object | null): Promise<void> {
    clearTimeout(keep);
    deps.onAssigned(message.place);
    handler.replace();
    if (message.role === 'serving') {
      listener = await deps.open({ port: message.port, reusePort: true, inherited: message.inherits ? handle : null });
      deps.onListening(listener);
    }
    // The supervisor keeps a copy of the socket, so that if this engine dies, another engine accepts the waiting
    // connections.
    const technology = listener?.technology ?? null;
    const opened = { port: listener?.port ?? 0, technology, reason: deps.listenerReason };
    say({ type: 'listening', ...opened }, listener?.handOver());
  }

  async function drain(patient: boolean): Promise<void> {
    if (draining) return;
    draining = true;
    const deadline = performance.now() + limits.drainMs;
    handler.drain();
    await Promise.all([
      listener?.drain(limits.drainMs, patient ? 'wait' : 'close'),
      patient ? receiver.drain(limits.drainMs) : null,
    ]);
    // Also waits for `waitUntil` work, and for events other than requests.
    while (handler.load > 0 && performance.now() < deadline)
      await new Promise((resolve) => setTimeout(resolve, LOAD_MS));
    clearInterval(notes);
    receiver.close();
    forwarder.close();
    internal.close();
    internal.closeAllConnections();
    deps.onDrained();
  }

  process.on('message', (message: ToEngine, handle: unknown) => {
    switch (message.type) {
      case 'cluster-state':
        placement.update(message);
        handler.replace();
        placement.release();
        break;
      case 'death':
        forwarder.onDeath(message.link, message.blamed);
        break;
      case 'assign':
        assign(message, (handle as object | undefined) ?? null).catch(deps.onFailure);
        break;
      case 'hand-over':
        say({ type: 'listener' }, listener?.handOver());
        break;
      case 'adopt':
        adopted.get(message.place)?.();
        if (draining || listener === null || listener.adopt === null) (handle as SentHandle | undefined)?.close();
        else adopted.set(message.place, listener.adopt(handle as object));
        break;
      case 'let-go':
        adopted.get(message.place)?.();
        adopted.delete(message.place);
        break;
      case 'recording':
        deps.onRecording(message.isOn);
        break;
      case 'drain':
        void drain(message.patient);
        break;
    }
  });

  let last = '';
  let quiet = 0;
  const notes = setInterval(() => {
    for (const { owner, organization, reason } of deps.lostThreads.takeLost())
      say({ type: 'lost-thread', deployment: owner, organization, reason });
    const { replacement } = deps.lostThreads;
    if (replacement !== null && !draining) {
      const { owner: deployment, organization, burntMs } = replacement.blamed;
      say({ type: 'recycle', reason: replacement.reason, blamed: { deployment, organization, burntMs } });
    }
    const running = handler.running().slice(0, RUNNING_MAX);
    const text = running.join(' ');
    if (text === last && ++quiet < NOTES_PER_REPORT) return;
    last = text;
    quiet = 0;
    say({
      type: 'note',
      running,
      load: handler.load,
      served: deps.served(),
      forwarded: forwarder.count,
      lostThreads: deps.lostThreads.count,
    });
  }, NOTE_MS);

  say({ type: 'booted' });
  return { drain };
}
