// The end of the link in the engine that has the clients: forwards their requests to other engines, returns the
// responses, and handles requests that are lost when an engine dies. Used by placement.ts, which decides where a
// request belongs.
import { connect } from 'node:net';
import { InFlight } from '#core/in-flight.ts';
import type { Exchange } from '../http/listener.ts';
import {
  ABORT,
  BEGIN,
  BODY,
  BODY_END,
  CHUNK,
  CREDIT,
  CUT,
  END,
  READ_BODY,
  REQUEST,
  UNKNOWN,
  UPGRADE,
  WHOLE_BYTES,
  WHOLE_EMPTY,
  WHOLE_TEXT,
  WINDOW_BYTES,
  type FrameReader,
} from './frames.ts';
import { EngineLink } from './engine-link.ts';
import { LinkedWire } from './linked-wire.ts';

/** Handles requests that cannot be forwarded after all. */
interface ForwarderDeps {
  /** Serves the request in this engine, because the request has had no effect yet, or may be repeated. */
  readonly serveHere: (deployment: string, exchange: Exchange) => void;
  /** Called when the engine died before it answered. */
  readonly answerLost: (exchange: Exchange) => void;
}

/** One forwarded request. */
interface Forwarded {
  readonly exchange: Exchange;
  readonly deployment: string;
  readonly counter: { inFlight: number };
  begun: boolean;
  /** Set when the exchange becomes a WebSocket. */
  socket: LinkedWire | null;
  /** Response bytes that the client has received, and that were not reported to the other engine yet. */
  taken: number;
  /** How many bytes of the request body the other engine still accepts. */
  credit: number;
}

/** An engine that receives requests. */
interface Target {
  readonly link: EngineLink;
  readonly running: InFlight<Forwarded>;
  connected: boolean;
  /** Whether to close the link when its last exchange ends. */
  leaving: boolean;
}

/** A request whose engine died, until the cause of the death is known. */
interface Orphan {
  readonly path: string;
  /** Whether the engine never received the request. */
  readonly untouched: boolean;
  readonly deployment: string;
  readonly exchange: Exchange;
}

/** How long to wait for the supervisor's verdict on a death. */
const VERDICT_MS = 2000;
/** How long to wait if the engine is unreachable, because it may also have been stopped normally. */
const UNREACHED_MS = 250;

export class Forwarder {
  #deps: ForwarderDeps;
  #targets = new Map<string, Target>();
  #orphans: Orphan[] = [];
  /** Number of forwarded requests. */
  count = 0;

  constructor(deps: ForwarderDeps) {
    this.#deps = deps;
  }

  /** @param counter counts the caller's pending requests. */
  forward(path: string, deployment: string, exchange: Exchange, counter: { inFlight: number }): void {
    const target = this.#targets.get(path) ?? this.#open(path);
    const { writer } = target.link;
    const { method, target: url, host, remoteAddress, headerBlock, bodyBytes } = exchange;
    const forwarded: Forwarded = {
      exchange,
      deployment,
      counter,
      begun: false,
      socket: null,
      taken: 0,
      credit: WINDOW_BYTES,
    };
    const id = target.running.add(forwarded);
    counter.inFlight++;
    this.count++;
    const chars =
      deployment.length + method.length + url.length + host.length + remoteAddress.length + headerBlock.length;
    writer.begin(REQUEST, id, 8 + 6 * 4 + chars * 3);
    writer.float(bodyBytes);
    writer.string(deployment);
    writer.string(method);
    writer.string(url);
    writer.string(host);
    writer.string(remoteAddress);
    writer.string(headerBlock);
    writer.end();
    target.link.flush();
    const onAbort = (): void => {
      if (target.running.get(id) === undefined) return;
      target.link.say(ABORT, id);
      this.#over(target, id);
    };
    exchange.onAbort = onAbort;
  }

  /** Disconnects from each other engine when it has answered. */
  retain(paths: ReadonlySet<string>): void {
    for (const [path, target] of this.#targets) {
      if (paths.has(path)) continue;
      target.leaving = true;
      this.#closeIdle(target);
    }
  }

  /** Called when the supervisor reports the cause of an engine's death. */
  onDeath(path: string, blamed: string | null): void {
    const concerned = this.#orphans.filter((orphan) => orphan.path === path);
    if (concerned.length === 0) return;
    this.#orphans = this.#orphans.filter((orphan) => orphan.path !== path);
    for (const { deployment, exchange } of concerned) {
      exchange.onAbort = null;
      if (deployment === blamed) this.#deps.answerLost(exchange);
      else this.#deps.serveHere(deployment, exchange);
    }
  }

  close(): void {
    for (const { link } of this.#targets.values()) link.destroy();
  }

  #open(path: string): Target {
    const socket = connect({ path });
    const link: EngineLink = new EngineLink(
      socket,
      (frame) => this.#onFrame(target, frame),
      () => this.#onGone(path, target),
    );
    const target: Target = { link, running: new InFlight(), connected: false, leaving: false };
    socket.once('connect', () => (target.connected = true));
    this.#targets.set(path, target);
    return target;
  }

  #onFrame(target: Target, frame: FrameReader): void {
    const id = frame.exchange;
    const forwarded = target.running.get(id);
    // The client has disconnected in the meantime.
    if (forwarded === undefined) return;
    const { exchange } = forwarded;
    if (forwarded.socket !== null && frame.kind !== CUT) {
      forwarded.socket.read(frame);
      return;
    }
    switch (frame.kind) {
      case WHOLE_TEXT:
      case WHOLE_BYTES:
      case WHOLE_EMPTY: {
        const status = frame.number();
        exchange.requestId = frame.string();
        const headerBlock = frame.string();
        const body = frame.kind === WHOLE_TEXT ? frame.text() : frame.kind === WHOLE_BYTES ? frame.bytes() : null;
        this.#over(target, id);
        exchange.send(status, headerBlock, body);
        return;
      }
      case BEGIN: {
        const status = frame.number();
        exchange.requestId = frame.string();
        forwarded.begun = true;
        const onDrain = (): void => this.#grant(target, id, forwarded);
        exchange.onDrain = onDrain;
        exchange.begin(status, frame.string());
        return;
      }
      case CHUNK: {
        const bytes = frame.bytes();
        forwarded.taken += bytes.byteLength;
        if (exchange.write(bytes) && forwarded.taken >= WINDOW_BYTES / 4) this.#grant(target, id, forwarded);
        return;
      }
      case END:
        this.#over(target, id);
        exchange.end();
        return;
      case CUT:
        this.#over(target, id);
        exchange.destroy();
        return;
      case READ_BODY:
        this.#readBody(target, id, forwarded);
        return;
      case UPGRADE:
        this.#upgrade(target, id, forwarded, frame.string());
        return;
      case CREDIT:
        forwarded.credit += frame.number();
        if (forwarded.credit > 0) exchange.resumeBody();
        return;
      case UNKNOWN:
        this.#over(target, id);
        this.#deps.serveHere(forwarded.deployment, exchange);
        return;
      default:
        throw new Error(`unknown frame kind ${frame.kind}`);
    }
  }

  /** Called when the engine with the durable object has opened a WebSocket for a client of this engine. */
  #upgrade(target: Target, id: number, forwarded: Forwarded, headerBlock: string): void {
    const linked = new LinkedWire(target.link, id, () => this.#over(target, id));
    forwarded.socket = linked;
    forwarded.exchange.onAbort = null;
    const client = forwarded.exchange.upgrade(headerBlock, {
      message(data) {
        linked.send(data);
        if (linked.isFull) client?.pause();
      },
      failed() {},
      closed: (code, reason) => linked.close(code, reason),
    });
    if (client === null) {
      linked.close(1011, 'No WebSocket was requested');
      return;
    }
    const onDrain = (): void => client.resume();
    linked.onDrain = onDrain;
    linked.attach({
      message: (data) => client.send(data),
      failed() {},
      // The close code tells the client to connect again, because the engine died.
      closed: (code, reason) => client.close(code === 1006 ? 1012 : code, reason),
    });
  }

  #readBody(target: Target, id: number, forwarded: Forwarded): void {
    forwarded.exchange.readBody({
      chunk(bytes) {
        if (target.running.get(id) !== forwarded) return true;
        target.link.sayBytes(BODY, id, bytes);
        forwarded.credit -= bytes.byteLength;
        return forwarded.credit > 0;
      },
      end() {
        if (target.running.get(id) === forwarded) target.link.say(BODY_END, id);
      },
    });
  }

  #grant(target: Target, id: number, forwarded: Forwarded): void {
    if (forwarded.taken === 0 || target.running.get(id) !== forwarded) return;
    target.link.sayNumber(CREDIT, id, forwarded.taken);
    forwarded.taken = 0;
  }

  #over(target: Target, id: number): void {
    const forwarded = target.running.remove(id);
    if (forwarded === undefined) return;
    forwarded.counter.inFlight--;
    forwarded.exchange.onAbort = null;
    forwarded.exchange.onDrain = null;
    if (target.leaving) this.#closeIdle(target);
  }

  #closeIdle(target: Target): void {
    if (target.running.size === 0) target.link.close();
  }

  #onGone(path: string, target: Target): void {
    if (this.#targets.get(path) === target) this.#targets.delete(path);
    for (const { exchange, deployment, counter, begun, socket } of target.running.values()) {
      if (socket !== null) {
        socket.lost();
        continue;
      }
      counter.inFlight--;
      exchange.onAbort = null;
      exchange.onDrain = null;
      if (begun) exchange.destroy();
      // An engine that has just died refuses connections before the supervisor can report the cause.
      else if (!target.connected) this.#await({ path, untouched: true, deployment, exchange });
      else if (mayRepeat(exchange)) this.#await({ path, untouched: false, deployment, exchange });
      else this.#deps.answerLost(exchange);
    }
  }

  /**
   * This depends on whether the request's own code killed the engine, because a retry here would then kill this engine
   * too.
   */
  #await(orphan: Orphan): void {
    this.#orphans.push(orphan);
    const { exchange } = orphan;
    const drop = (): boolean => {
      const before = this.#orphans.length;
      this.#orphans = this.#orphans.filter((other) => other !== orphan);
      return this.#orphans.length < before;
    };
    const onAbort = (): void => void drop();
    exchange.onAbort = onAbort;
    const onSilence = (): void => {
      if (!drop()) return;
      exchange.onAbort = null;
      if (orphan.untouched) this.#deps.serveHere(orphan.deployment, exchange);
      else this.#deps.answerLost(exchange);
    };
    setTimeout(onSilence, orphan.untouched ? UNREACHED_MS : VERDICT_MS).unref();
  }
}

function mayRepeat({ method, bodyBytes, isOfObject }: Exchange): boolean {
  return isOfObject !== true && bodyBytes === 0 && (method === 'GET' || method === 'HEAD' || method === 'OPTIONS');
}
