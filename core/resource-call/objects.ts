// Operations on durable objects: the objects of a class, and the data that one of them stores. `binding` is a binding's
// name in platform.yaml, or the name of its class.
import type { WireValue } from '../database-request.ts';
import type { Page } from './arguments.ts';

/** A durable object that has stored something. */
export interface DescribedObject {
  /** 64 hex digits. */
  readonly id: string;
  /** The name from which its id was made; null if it has no name, or the name is not known yet. */
  readonly name: string | null;
  /** Of its database. */
  readonly bytes: number;
  /** Milliseconds since 1970: its last event while it is in memory, otherwise its last write. */
  readonly activeAt: number;
  /** Milliseconds since 1970; null means no alarm. */
  readonly alarm: number | null;
  /** Whether an instance of the object is in memory. */
  readonly isLive: boolean;
  /** Open WebSockets. */
  readonly sockets: number;
}

/** A key of an object. */
interface ObjectValue {
  /** The key, truncated if it is long. */
  readonly key: string;
  readonly isKeyCut: boolean;
  /** Number of characters of the whole stored value. */
  readonly size: number;
  /** The value as JSON, truncated if it is long. Values that JSON does not support are encoded. */
  readonly value: string;
  readonly isCut: boolean;
}

/** Rows of a statement. */
interface ObjectRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly WireValue[])[];
  readonly truncated: boolean;
  readonly rowsWritten: number;
}

/** Arguments that name an object, by its id or its name. */
interface OfObject {
  readonly object: string;
}

/** Arguments that name a class, by its first name (bindings/object-classes.ts). */
interface OfClass extends Pick<Page, 'cursor'> {
  readonly class: string;
}

/** Operations on objects. */
export interface ObjectOperations {
  /** Objects that have stored something, by id. A page may have fewer objects than `limit`. */
  readonly 'object.list': {
    readonly takes: Page;
    readonly gives: {
      readonly class: string;
      readonly objects: readonly DescribedObject[];
      readonly cursor: string | null;
    };
  };
  /** Null if the object has stored nothing, and is not in memory. */
  readonly 'object.get': { readonly takes: OfObject; readonly gives: { readonly object: DescribedObject | null } };
  /** Stored values of the object, sorted by key. */
  readonly 'object.values': {
    readonly takes: OfObject & Page & { readonly prefix?: string | undefined };
    readonly gives: { readonly values: readonly ObjectValue[]; readonly cursor: string | null };
  };
  /** Runs SQL that only reads. */
  readonly 'object.query': { readonly takes: OfObject & { readonly sql: string }; readonly gives: ObjectRows };
  /** Runs SQL atomically. */
  readonly 'object.sql': { readonly takes: OfObject & { readonly sql: string }; readonly gives: ObjectRows };
  /** Deletes the stored data of the object, and its alarm. Returns false if there was no data. */
  readonly 'object.delete': { readonly takes: OfObject; readonly gives: { readonly removed: boolean } };
  /**
   * Returns whether a class, by its first name, has objects with stored data, even if the deployment does not declare
   * the class. `object` is the name or id of an object. Repeat the call with the cursor until there is none.
   */
  readonly 'object.held': {
    readonly takes: OfClass;
    readonly gives: { readonly object: string | null; readonly cursor: string | null };
  };
  /** Deletes all objects of a class that the deployment does not declare. Repeat the call until there is no cursor. */
  readonly 'object.clear': {
    readonly takes: OfClass;
    readonly gives: { readonly removed: number; readonly cursor: string | null };
  };
  /** Ends the instance in memory; the next event creates a new one. Returns false if there was no instance. */
  readonly 'object.reset': { readonly takes: OfObject; readonly gives: { readonly removed: boolean } };
}
