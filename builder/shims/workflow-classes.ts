// Adds the workflows that platform.yaml declares as classes to a worker's handlers. Included in bundles that have
// workflows as classes.

/** A workflow: its resource name, the name of the export, and the exported value. */
type WorkflowClass = readonly [resource: string, name: string, exported: unknown];

type Method = (...args: unknown[]) => unknown;

/**
 * @param handler the result of `toHandler` (handler.ts) @param names names of handlers; they remain methods of their
 * object, which keeps `this` correct
 * @returns a handler object with the classes in `workflows`, of which the guest calls `run`
 */
export function withWorkflowClasses(
  handler: unknown,
  names: readonly string[],
  classes: readonly WorkflowClass[],
): Record<string, unknown> {
  const own = (handler ?? {}) as Record<string, unknown>;
  const joined: Record<string, unknown> = {};
  for (const name of names) {
    const value = own[name];
    if (value === undefined) continue;
    joined[name] = typeof value === 'function' ? (...args: unknown[]) => (own[name] as Method)(...args) : value;
  }
  const entrypoints = classes.map(([resource, name, exported]) => {
    if (typeof exported === 'function') return [resource, { entrypoint: exported }] as const;
    throw new Error(
      `platform.yaml declares the class ${name} for the workflow ${resource}, but the worker does not export it`,
    );
  });
  joined['workflows'] = { ...(own['workflows'] as object | undefined), ...Object.fromEntries(entrypoints) };
  return joined;
}
