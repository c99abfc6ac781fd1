// Decides which project stores the objects of a class, and which project's code runs them. These differ if the class
// moved to another project. The production deployment of the project that stores the objects decides, so the move
// happens when it is promoted. Made by handler.ts.
import { firstNameOf, nameNowOf, type DeclaredClasses, type ObjectClasses } from '#core/bindings/object-classes.ts';
import { receivedFrom, transferAgrees, transferredTo } from '#core/bindings/object-transfers.ts';
import type { ServiceTarget } from '#core/bindings/service.ts';
import { PlatformError } from '#core/errors.ts';
import type { Route } from '../router/project-routes.ts';

/** Maximum number of transfers that a binding follows; a class that was received cannot be transferred. */
const TRANSFERS_MAX = 2;

interface ObjectHomesDeps<Found> {
  /** Opens the deployment of a route. @throws {PlatformError} when the route cannot be served. */
  readonly find: (route: Route) => Found;
  /** Finds another project. @throws {PlatformError} `service_not_found`, also for a project of another organization. */
  readonly calledRoute: (caller: Route, target: Pick<ServiceTarget, 'project' | 'previews'>) => Route;
  /** The production of a project; null if it has none. */
  readonly production: (project: string) => Route | null;
  /**
   * Whether routes have a production deployment. They have none in `platform dev`, where a received class has its own
   * objects.
   */
  readonly hasProduction: boolean;
}

/** A class of objects, as a binding refers to it. */
interface ObjectHome {
  /** Namespace of the project that stores the objects. */
  readonly route: Route;
  /** Name of the class in the code that runs the objects. */
  readonly class: string;
  /** First name of the class in the project that stores the objects. */
  readonly firstName: string;
  readonly isReceived: boolean;
}

/** The code that runs an object. */
interface ObjectCode<Found> {
  readonly route: Route;
  readonly found: Found;
  /** The name of the class in that code; null if the project that stores the object runs it. */
  readonly class: string | null;
}

export interface ObjectHomes<Found = unknown> {
  /**
   * Finds the class of a deployment's own binding. @throws {PlatformError} `service_failed` when no project transfers
   * the class.
   */
  own(route: Route, classes: ObjectClasses, name: string): ObjectHome;
  /**
   * Finds a class of another project. @throws {PlatformError} `service_not_found`; `service_failed` without the class.
   */
  of(caller: Route, owner: Pick<ServiceTarget, 'project' | 'previews'>, name: string): ObjectHome;
  /** Finds the code for an object that the project of the route stores. @param first the first name of its class. */
  code(route: Route, first: string): ObjectCode<Found>;
}

export function createObjectHomes<Found extends { readonly artifact: { readonly manifest: DeclaredClasses } }>({
  find,
  calledRoute,
  production,
  hasProduction,
}: ObjectHomesDeps<Found>): ObjectHomes<Found> {
  const classesOf = (route: Route): DeclaredClasses => find(route).artifact.manifest;

  function own(route: Route, classes: ObjectClasses, name: string): ObjectHome {
    const now = nameNowOf(classes, name);
    const firstName = firstNameOf(classes, now);
    const from = receivedFrom(classes, firstName);
    // A preview has its own objects, as in `platform dev`.
    if (from === null || route.preview !== null || !hasProduction)
      return { route, class: now, firstName, isReceived: false };
    const home = calledRoute(route, { project: from.project, previews: 'production' });
    const { objectClasses: theirs = {} } = classesOf(home);
    const first = firstNameOf(theirs, from.class);
    if (!transferAgrees({ project: home.project, classes: theirs }, first, { project: route.project, classes }))
      throw new PlatformError('service_failed', {
        project: from.project,
        reason: `it has not transferred its class ${from.class} to ${route.project}`,
      });
    return { route: home, class: now, firstName: first, isReceived: true };
  }

  function of(
    caller: Route,
    owner: Pick<ServiceTarget, 'project' | 'previews'>,
    name: string,
    followed = 0,
  ): ObjectHome {
    const route = calledRoute(caller, owner);
    const { objects = {}, objectClasses: classes = {} } = classesOf(route);
    const now = nameNowOf(classes, name);
    const to = transferredTo(classes, firstNameOf(classes, now));
    if (to !== null && followed < TRANSFERS_MAX)
      return of(caller, { project: to.project, previews: owner.previews }, to.class, followed + 1);
    if (!Object.values(objects).includes(now))
      throw new PlatformError('service_failed', {
        project: owner.project,
        reason: `it declares no durable objects of the class ${name}`,
      });
    return own(route, classes, now);
  }

  function code(route: Route, first: string): ObjectCode<Found> {
    // An earlier deployment that still runs does not know about the transfer.
    const decides = route.preview === null && hasProduction ? (production(route.project) ?? route) : route;
    const { objectClasses: classes } = classesOf(decides);
    const to = classes?.transferred === undefined ? null : transferredTo(classes, first);
    if (to === null) return { route, found: find(route), class: null };
    const runs = calledRoute(route, {
      project: to.project,
      previews: route.preview === null ? 'production' : 'branch',
    });
    const found = find(runs);
    const { objectClasses: theirs = {} } = found.artifact.manifest;
    const from = { project: route.project, classes: classes! };
    if (!transferAgrees(from, first, { project: runs.project, classes: theirs }))
      throw new PlatformError('service_failed', {
        project: to.project,
        reason: `it does not receive the class ${first} of ${route.project}`,
      });
    return { route: runs, found, class: nameNowOf(theirs, to.class) };
  }

  return { own, of: (caller, owner, name) => of(caller, owner, name), code };
}
