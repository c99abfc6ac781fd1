// Operators' operations on durable objects, sent to the engine that has the object. If no engine has the object, this
// engine takes it with a lease, so that there is never a second writer. Created by handler.ts;
// runtime/engine/resources/objects.ts calls it.
import { Readable } from 'node:stream';
import { PlatformError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import { objectPlace, objectsNamespace, REFUSED_STATUS } from '#core/object-address.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import { fetchInside } from '../http/platform-hosts.ts';
import type { HeadCache } from '../http/header-block.ts';
import type { Exchange } from '../http/listener.ts';
import { LoopbackExchange } from '../http/loopback-exchange.ts';
import type { Route } from '../router/project-routes.ts';
import type { ObjectHomes } from './object-homes.ts';
import { collectBody } from './request-body.ts';
import { stateOf, type LiveObject, type LiveState } from './objects/live-object.ts';
import type { LiveObjects } from './objects/live-objects.ts';

/** An object of a route's project. */
export interface OperatedObject {
  readonly id: string;
  readonly class: string;
  readonly name?: string;
}

/**
 * The operation. `remove` is like `empty`, for an object whose class was deleted. `steps` is a JSON list of steps
 * (core/object-storage.ts), which run in a separate transaction.
 */
type ObjectAction =
  | { readonly do: 'state' | 'reset' | 'empty' | 'remove' }
  | { readonly do: 'steps'; readonly steps: string };

/** Operations on the objects of a project. */
export interface ObjectOperator {
  /**
   * Runs an operation. @returns for `steps`, the results; for `reset`, whether there was an instance; for `state`, the
   *   {@link LiveState}.
   */
  act(route: Route, object: OperatedObject, action: ObjectAction): Promise<unknown>;
  /** The objects of the route's project or preview that any engine has, by id. */
  live(route: Route): Promise<Readonly<Record<string, LiveState>>>;
  /** The class of a deployment's own binding, in the project that stores it. @throws {PlatformError} */
  readonly home: ObjectHomes['own'];
  /** Serves an operation that another engine forwarded. @returns false if the key does not belong to an operation. */
  serve(key: string, exchange: Exchange): boolean;
}

interface ObjectOperatorDeps {
  readonly objects: LiveObjects;
  readonly heads: HeadCache;
  readonly memory: HostMemory;
  readonly bodyBytesMax: number;
  readonly namespaceOf: (project: string) => string;
  readonly findDeployment: (id: string) => Route | null;
  readonly homes: Pick<ObjectHomes, 'own'>;
  /** Sends operations to other engines; undefined if there are none. */
  readonly forward: ((link: string, key: string, exchange: Exchange) => void) | undefined;
}

/** Prefix of the key of a forwarded operation. */
const KEY = 'operate ';

export function createObjectOperator(deps: ObjectOperatorDeps): ObjectOperator {
  const { objects, heads, bodyBytesMax, forward } = deps;

  function enter(route: Route, object: OperatedObject, exchange: Exchange, isForwarded: boolean): void {
    const { project, branch, preview } = route;
    const namespace = deps.namespaceOf(project);
    const owner = { ...object, namespace, project, branch, preview };
    const key = keyOf(route, object);
    exchange.memory = deps.memory;
    objects.operate(objectPlace(namespace, preview, object.id), owner, {
      forward: isForwarded || forward === undefined ? null : (link) => forward(link, key, exchange),
      refuse: (error) => refuse(exchange, error),
      run: (live) =>
        new Promise((resolve) => {
          collectBody(exchange, resolve, (body) => {
            const action = JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString()) as ObjectAction;
            act(live, action)
              .then(
                (value) => exchange.send(200, '', JSON.stringify({ value })),
                (error: unknown) => refuse(exchange, error),
              )
              .finally(resolve);
          });
        }),
    });
  }

  async function act(live: LiveObject, action: ObjectAction): Promise<unknown> {
    switch (action.do) {
      case 'state':
        return stateOf(live);
      case 'reset':
        return objects.reset(live);
      case 'remove':
        live.sockets.closeAll(1001, 'Deleted');
        await objects.empty(live);
        return null;
      case 'empty':
        await objects.empty(live);
        return null;
      default: {
        if (live.store === null) throw new PlatformError('conflict', { reason: 'Another engine took over the object' });
        try {
          return (JSON.parse(await live.store.aside(action.steps)) as { v: unknown }).v;
        } catch (error) {
          const { code, details } = error as PlatformError;
          if (code !== 'object_reset') throw error;
          if (details?.['isShutOut'] === true) objects.shutOut(live);
          throw new PlatformError('invalid_argument', { reason: String(details?.['reason']) }, { cause: error });
        }
      }
    }
  }

  async function ask(serve: (exchange: Exchange) => void, body: string): Promise<unknown> {
    const { signal } = new AbortController();
    const response = await fetchInside({ serve, bodyBytesMax, heads, isOfObject: true }, new URL('https://object/'), {
      method: 'POST',
      headers: [],
      body,
      signal,
      received: () => null,
    });
    const text = await new Response(Readable.toWeb(response.body) as ReadableStream).text();
    if (response.statusCode === 200) return (JSON.parse(text) as { value: unknown }).value;
    if (response.statusCode !== REFUSED_STATUS)
      throw new PlatformError('conflict', { reason: 'The engine of the object is gone: try again' });
    const { code, details } = JSON.parse(text) as { code: ErrorCode; details: ErrorDetails };
    throw new PlatformError(code, details);
  }

  return {
    home: deps.homes.own,
    act: (route, object, action) => ask((exchange) => enter(route, object, exchange, false), JSON.stringify(action)),
    async live(route) {
      const namespace = objectsNamespace(deps.namespaceOf(route.project), route.preview);
      const links = forward === undefined ? [] : await objects.leases.others(namespace);
      const elsewhere = await Promise.all(
        links.map((link) => ask((exchange) => forward!(link, keyOf(route, null), exchange), '').catch(() => ({}))),
      );
      return Object.assign({}, ...elsewhere, objects.inNamespace(namespace)) as Record<string, LiveState>;
    },
    serve(key, exchange) {
      if (!key.startsWith(KEY)) return false;
      const { deployment, object } = JSON.parse(key.slice(KEY.length)) as {
        deployment: string;
        object: OperatedObject | null;
      };
      const route = deps.findDeployment(deployment);
      if (route === null) refuse(exchange, new PlatformError('deployment_not_found', { deployment }));
      else if (object !== null) enter(route, object, exchange, !(exchange instanceof LoopbackExchange));
      else {
        const value = objects.inNamespace(objectsNamespace(deps.namespaceOf(route.project), route.preview));
        exchange.send(200, '', JSON.stringify({ value }));
      }
      return true;
    },
  };
}

function keyOf({ deployment }: Route, object: OperatedObject | null): string {
  return KEY + JSON.stringify({ deployment, object });
}

function refuse(exchange: Exchange, error: unknown): void {
  const known =
    error instanceof PlatformError ? error : new PlatformError('conflict', { reason: 'It failed: try again' });
  exchange.send(REFUSED_STATUS, '', JSON.stringify({ code: known.code, details: known.details }));
}
