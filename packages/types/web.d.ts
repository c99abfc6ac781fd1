// Members of Web classes that TypeScript's library for workers lacks.
declare global {
  interface Body {
    /**
     * The body, read as JSON.
     *
     * @example
     * const { name } = await request.json<{ name: string }>();
     */
    json<Value = any>(): Promise<Value>;
  }
}

export {};
