// The address of an event for a durable object, between engines and into the isolate, and the location of its storage.
// Pure.
import { ofPreview } from './preview.ts';

/** Kind of an object's event: a request, calls of another worker or object, its alarm, or one of its WebSockets. */
type ObjectEventKind = 'fetch' | 'rpc' | 'alarm' | 'socket';

/** An event's address. */
export interface ObjectAddress {
  /** The object's id, 64 hex digits that also depend on the class. */
  readonly id: string;
  /** First name of the class; deployments may export it under other names (bindings/object-classes.ts). */
  readonly class: string;
  /** The name from which the id was made, if there is one. */
  readonly name?: string;
  readonly op: ObjectEventKind;
  /** Only for `alarm`: number of earlier attempts. */
  readonly retries?: number;
  /** Protocol of the URL that the object sees. */
  readonly protocol: 'http:' | 'https:';
}

/** Prefix of the key that an object's event has on the link between engines. The key of a request is its deployment. */
export const OBJECT_KEY = 'object ';

/** Whether a key on the link belongs to an object's event. */
export function isObjectKey(key: string): boolean {
  return key.startsWith(OBJECT_KEY);
}

/** Status of a response that represents an error of the platform; no worker can choose it. */
export const REFUSED_STATUS = 998;

/**
 * The text from which ids of a class are derived: it differs by project, preview and class.
 *
 * @param firstName the first name of the class.
 */
export function objectClassKey(project: string, preview: string | null, firstName: string): string {
  return `${ofPreview(project, preview)}/${firstName}`;
}

/**
 * Suffix that turns the namespace of a project or preview into the namespace of its objects, which no other data can
 * have.
 */
const OBJECTS_SUFFIX = '~~~objects';

/** The namespace with a database for each object of a project, or of its preview. */
export function objectsNamespace(namespace: string, preview: string | null): string {
  return ofPreview(namespace, preview) + OBJECTS_SUFFIX;
}

/** Location of the storage of an object, as a database. */
export function objectPlace(
  namespace: string,
  preview: string | null,
  id: string,
): { readonly namespace: string; readonly resource: string } {
  return { namespace: objectsNamespace(namespace, preview), resource: id };
}
