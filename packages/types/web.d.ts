// What TypeScript's library for workers lacks of the Web's classes.
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
