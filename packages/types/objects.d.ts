// Durable objects: `object` in platform.yaml.
import type { Remote } from './service.d.ts';

/** The id of an object. */
export interface DurableObjectId {
  /** 64 hexadecimal digits. */
  toString(): string;
  equals(other: DurableObjectId): boolean;
  /** The name from which the id was created, or undefined. */
  readonly name?: string;
  readonly jurisdiction?: string;
}

/** Members of the class that callers cannot reach. */
type HiddenMember =
  | 'fetch'
  | 'alarm'
  | 'webSocketMessage'
  | 'webSocketClose'
  | 'webSocketError'
  | 'ctx'
  | 'env'
  | 'dup'
  | 'id'
  | 'name';

/** The methods and getters of an object, as its callers see them. */
export type DurableObjectMethods<Instance> = {
  readonly [Name in Exclude<keyof Instance, HiddenMember>]: Remote<Instance[Name]>;
};

/** Reaches one object, on any machine. */
export type DurableObjectStub<Instance = unknown> = DurableObjectMethods<Instance> & {
  readonly id: DurableObjectId;
  readonly name?: string;
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;
};

/** The objects of a class (`object` in platform.yaml). */
export interface DurableObjectNamespace<Instance = unknown> {
  /** The same name gives the same id. */
  idFromName(name: string): DurableObjectId;
  newUniqueId(options?: { jurisdiction?: string }): DurableObjectId;
  /** @throws {TypeError} for the id of another class, project or preview. */
  idFromString(id: string): DurableObjectId;
  get(id: DurableObjectId): DurableObjectStub<Instance>;
  getByName(name: string): DurableObjectStub<Instance>;
  /** The jurisdiction is accepted without effect, because the operator chooses where data is stored. */
  jurisdiction(name: string): DurableObjectNamespace<Instance>;
}

/** A value of SQL. */
export type SqlStorageValue = ArrayBuffer | string | number | null;

/** The rows of a statement. */
export interface SqlStorageCursor<Row extends Record<string, SqlStorageValue>> extends Iterable<Row> {
  next(): { done?: false; value: Row } | { done: true; value?: never };
  toArray(): Row[];
  /** @throws {Error} unless there is exactly one row. */
  one(): Row;
  raw<Values extends SqlStorageValue[]>(): IterableIterator<Values>;
  readonly columnNames: string[];
  readonly rowsRead: number;
  readonly rowsWritten: number;
}

/** SQL of an object: each object has its own SQLite database. */
export interface SqlStorage {
  /** Runs one or several statements; the values are the parameters of the last statement. */
  exec<Row extends Record<string, SqlStorageValue>>(query: string, ...values: unknown[]): SqlStorageCursor<Row>;
  /** In bytes. */
  readonly databaseSize: number;
}

/** Which keys `list` reads. */
export interface DurableObjectListOptions {
  start?: string;
  startAfter?: string;
  end?: string;
  prefix?: string;
  reverse?: boolean;
  limit?: number;
  /** Lets the object handle other events while it waits for this read. */
  allowConcurrency?: boolean;
}

/** Options of a write. */
export interface DurableObjectPutOptions {
  allowConcurrency?: boolean;
  /** The object's responses and messages do not wait until the write is on disk. */
  allowUnconfirmed?: boolean;
}

/** Keys and values of an object. */
export interface DurableObjectTransaction {
  get<T = unknown>(key: string, options?: { allowConcurrency?: boolean }): Promise<T | undefined>;
  get<T = unknown>(keys: string[], options?: { allowConcurrency?: boolean }): Promise<Map<string, T>>;
  put<T>(key: string, value: T, options?: DurableObjectPutOptions): Promise<void>;
  put<T>(entries: Record<string, T>, options?: DurableObjectPutOptions): Promise<void>;
  delete(key: string, options?: DurableObjectPutOptions): Promise<boolean>;
  delete(keys: string[], options?: DurableObjectPutOptions): Promise<number>;
  list<T = unknown>(options?: DurableObjectListOptions): Promise<Map<string, T>>;
  getAlarm(options?: { allowConcurrency?: boolean }): Promise<number | null>;
  setAlarm(time: number | Date, options?: DurableObjectPutOptions): Promise<void>;
  deleteAlarm(options?: DurableObjectPutOptions): Promise<void>;
  /** Undoes the transaction when it ends. */
  rollback(): void;
}

/** The storage of an object. */
export interface DurableObjectStorage extends Omit<DurableObjectTransaction, 'rollback'> {
  /** Deletes keys, values and tables; not the alarm. */
  deleteAll(options?: DurableObjectPutOptions): Promise<void>;
  transaction<T>(closure: (transaction: DurableObjectTransaction) => Promise<T>): Promise<T>;
  transactionSync<T>(closure: () => T): T;
  /** Resolves when all writes before it are on disk. */
  sync(): Promise<void>;
  readonly sql: SqlStorage;
  readonly kv: {
    get<T = unknown>(key: string): T | undefined;
    put<T>(key: string, value: T): void;
    delete(key: string): boolean;
    list<T = unknown>(options?: DurableObjectListOptions): Iterable<[string, T]>;
  };
}

/** A message that the platform answers for the sockets of an object, without calling the object. */
export interface WebSocketAutoResponse {
  readonly request: string;
  readonly response: string;
}

/** The `ctx` that the constructor of an object's class receives. */
export interface DurableObjectState {
  readonly id: DurableObjectId;
  readonly storage: DurableObjectStorage;
  waitUntil(promise: Promise<unknown>): void;
  /** Holds back other events until the callback has ended; an error resets the object. */
  blockConcurrencyWhile<T>(callback: () => Promise<T>): Promise<T>;
  /** Accepts a socket: its messages call `webSocketMessage` of the object, and its end calls `webSocketClose`. */
  acceptWebSocket(socket: WebSocket, tags?: string[]): void;
  /** The open sockets, or the sockets with a tag. */
  getWebSockets(tag?: string): WebSocket[];
  getTags(socket: WebSocket): string[];
  setWebSocketAutoResponse(pair?: WebSocketAutoResponse): void;
  getWebSocketAutoResponse(): WebSocketAutoResponse | null;
  getWebSocketAutoResponseTimestamp(socket: WebSocket): Date | null;
  /** Ends the instance: its events fail with this reason, and the next event creates a new one. */
  abort(reason?: string): never;
}

/** What `alarm` gets. */
export interface AlarmInvocationInfo {
  readonly retryCount: number;
  readonly isRetry: boolean;
  readonly scheduledTime: number;
}
