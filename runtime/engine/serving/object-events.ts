// Entry points to durable objects: requests and RPC sessions of workers, alarms, and events of kept WebSockets, from
// this engine or from another engine that does not have the object. Made by handler.ts.
import { Readable } from 'node:stream';
import { OBJECT_KEY, REFUSED_STATUS, type ObjectAddress } from '#core/object-address.ts';
import { PlatformError } from '#core/errors.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { ObjectRequest } from '../bindings/platform-hosts.ts';
import type { WorkerSession } from '../bindings/worker-calls.ts';
import type { HeadCache } from '../http/header-block.ts';
import type { Exchange } from '../http/listener.ts';
import { fetchInside } from '../http/platform-hosts.ts';
import { receiveSession } from '../http/received-session.ts';
import { connectObject } from '../http/worker-calls.ts';
import type { DeliveryEnd } from '../invocation/delivery.ts';
import { failed, ok } from '../invocation/outcome.ts';
import type { Route } from '../router/project-routes.ts';
import type { Deployment, StoredElsewhere } from './deployment.ts';
import type { ObjectHomes } from './object-homes.ts';
import type { AlarmOwner, DueAlarm, ObjectAlarms } from './objects/object-alarms.ts';
import type { SocketEvent } from './objects/object-sockets.ts';
import { SocketEventExchange } from './objects/socket-exchange.ts';

/** Dependencies. */
interface ObjectEventsDeps {
  readonly heads: HeadCache;
  readonly bodyBytesMax: number;
  readonly namespaceOf: (project: string) => string;
  readonly findDeployment: (id: string) => Route | null;
  /** Returns the route of a project's branch; with null, the route of production. */
  readonly branchRoute: (project: string, branch: string | null) => Route | null;
  readonly homes: Pick<
    ObjectHomes<{
      readonly deployment: Deployment | null;
      readonly remote: { readonly isQuarantined: boolean } | null;
    }>,
    'code'
  >;
  readonly alarms: ObjectAlarms | null;
  /** Sends an event to the engine that has its object; null if there are no other engines. */
  readonly forward: ((link: string, key: string, exchange: Exchange) => void) | null;
}

/** The content of a key on the link between engines. */
interface ForwardedObject {
  readonly deployment: string;
  readonly address: ObjectAddress;
  /** The first frame of an RPC session. */
  readonly frame?: { readonly text?: string; readonly bytes?: string };
}

export class ObjectEvents {
  readonly #deps: ObjectEventsDeps;

  constructor(deps: ObjectEventsDeps) {
    this.#deps = deps;
  }

  /** Sends a request to a durable object of a route's project. */
  reach(route: Route, address: ObjectAddress, target: URL, request: ObjectRequest): Promise<FetchedResponse> {
    const { bodyBytesMax, heads } = this.#deps;
    const { socket } = request;
    const serve = (exchange: Exchange): void => this.#enter(route, address, exchange);
    return fetchInside({ serve, bodyBytesMax, heads, isOfObject: true, socket }, target, request);
  }

  /** Opens an RPC session with a durable object of a route's project; resolves when the session ends. */
  connect(route: Route, address: ObjectAddress, session: WorkerSession): Promise<void> {
    return connectObject(address.class, session, (exchange) => this.#enter(route, address, exchange));
  }

  #enter(route: Route, address: ObjectAddress, exchange: Exchange, isForwarded = false): void {
    try {
      const { deployment, home } = this.#codeOf(route, address);
      const { forward } = this.#deps;
      const send =
        isForwarded || forward === null
          ? null
          : (link: string) => forward(link, objectKey(route, address, exchange), exchange);
      deployment.object(exchange, address, home, send);
    } catch (error) {
      refuse(exchange, error as PlatformError);
    }
  }

  /** @param route the route of the project that stores the object. @throws {PlatformError} */
  #codeOf(route: Route, address: ObjectAddress): { deployment: Deployment; home: StoredElsewhere | null } {
    const { homes, namespaceOf } = this.#deps;
    const { route: runs, found, class: name } = homes.code(route, address.class);
    const { deployment, remote } = found;
    if (deployment === null || remote?.isQuarantined === true) {
      const reason = remote?.isQuarantined === true ? 'it is quarantined' : '';
      throw new PlatformError('deployment_unavailable', { deployment: runs.deployment, reason });
    }
    if (name === null) return { deployment, home: null };
    const { project, branch, preview } = route;
    return { deployment, home: { namespace: namespaceOf(project), project, branch, preview, class: name } };
  }

  /** Serves an event that another engine forwarded; returns false when this engine does not know its deployment. */
  serve(key: string, exchange: Exchange): boolean {
    const { deployment: id, address, frame } = JSON.parse(key.slice(OBJECT_KEY.length)) as ForwardedObject;
    const asked = this.#deps.findDeployment(id);
    if (asked === null) return false;
    // An event that returns from an engine that died is not forwarded again.
    const isForwarded = exchange.isOfObject !== true;
    if (isForwarded && address.op === 'rpc')
      receiveSession(exchange, frame?.text ?? new Uint8Array(Buffer.from(frame?.bytes ?? '', 'base64')), (session) =>
        this.#enter(asked, address, session, true),
      );
    else this.#enter(asked, address, exchange, isForwarded);
    return true;
  }

  /** Whether the project or the preview of an object was deleted. */
  isGone(owner: AlarmOwner): boolean {
    return this.#routeOf(owner) === null;
  }

  /** The current code of an object. */
  #routeOf({ project, preview, branch }: AlarmOwner): Route | null {
    const route = this.#deps.branchRoute(project, preview === null ? null : branch);
    return route?.preview === preview ? route : null;
  }

  /** Passes an event of a kept WebSocket to the current code of its object. */
  deliver(owner: AlarmOwner, event: SocketEvent): void {
    const { id, class: className, name } = owner;
    const route = this.#routeOf(owner);
    if (route === null) {
      event.sockets.closeAll(1001, 'Deleted');
      return;
    }
    try {
      const named = name === undefined ? {} : { name };
      const address: ObjectAddress = { id, class: className, ...named, op: 'socket', protocol: 'https:' };
      const { deployment, home } = this.#codeOf(route, address);
      deployment.object(new SocketEventExchange(event.content.event), address, home, null, event);
    } catch {
      event.ended(failed('draining'));
    }
  }

  /** Delivers an alarm to its object. */
  async ring(route: Route, due: DueAlarm): Promise<DeliveryEnd> {
    const { alarms, namespaceOf } = this.#deps;
    const { project, branch, preview } = route;
    const owner = { ...due, namespace: namespaceOf(project), project, branch, preview };
    const { retries, ...named } = due;
    const address: ObjectAddress = { ...named, op: 'alarm', retries, protocol: 'https:' };
    const signal = new AbortController().signal;
    const request = { method: 'POST', headers: [], body: null, signal, received: () => null, socket: null };
    const response = await this.reach(route, address, new URL('https://object/alarm'), request);
    const text = await new Response(Readable.toWeb(response.body) as ReadableStream).text();
    if (response.statusCode === 200) {
      const { at } = JSON.parse(text) as { readonly at: unknown };
      if (typeof at === 'number') await alarms?.set(owner, at);
    } else await alarms?.again(owner, retries);
    return { outcome: ok, result: 'null', cpuMs: 0 };
  }
}

function objectKey({ deployment }: Route, address: ObjectAddress, exchange: Exchange): string {
  const first = exchange.callee?.session?.frame ?? null;
  const frame = typeof first === 'string' ? { text: first } : { bytes: Buffer.from(first ?? '').toString('base64') };
  const key: ForwardedObject = { deployment, address, ...(first === null ? {} : { frame }) };
  return OBJECT_KEY + JSON.stringify(key);
}

/** The error is thrown by the caller's stub, because a response would look like a response of the object. */
function refuse(exchange: Exchange, error: PlatformError): void {
  exchange.send(REFUSED_STATUS, '', JSON.stringify({ code: error.code, message: error.message }));
}
