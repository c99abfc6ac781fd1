// What resource-api.ts asks, and what it is answered.

/** An answer. */
export interface ResourceApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of many shapes
  readonly body: any;
  readonly bytes: Buffer;
}

/** Asks for a path behind `/projects/:id`. */
export type AskResourceApi = (method: string, path: string, body?: unknown) => Promise<ResourceApiAnswer>;
