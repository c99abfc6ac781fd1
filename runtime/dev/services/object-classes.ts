// Warns about classes of durable objects that disappear from a worker in development while objects of these classes are
// stored, because a deployment to production would fail. Made by ../dev.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import { classesAdvice, forgottenClasses, keptClasses } from '#core/bindings/object-classes.ts';
import { isClassName } from '#core/bindings/object.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { ResourceDeps } from '../../engine/resources/request-scope.ts';
import { askResource } from '../../engine/kinds/operations.ts';
import type { Route } from '../../engine/router/project-routes.ts';

/** Watches the classes of a project. */
interface ClassWatch {
  /** Called when a deployment is served. */
  deployed(route: Route, artifact: OpenArtifact): Promise<void>;
}

/**
 * @param file the file with the first names of all classes that the project has ever had. @param warn prints a line;
 * each line is printed once.
 */
export function createClassWatch(file: string, resources: ResourceDeps, warn: (text: string) => void): ClassWatch {
  const known = new Set(namesIn(file));
  const said = new Set<string>();

  async function held(route: Route, artifact: OpenArtifact, name: string): Promise<string | null> {
    for (let cursor: string | null = null; ;) {
      const args = { class: name, ...(cursor !== null && { cursor }) };
      const { result } = await askResource(resources, route, artifact, { operation: 'object.held', args });
      const found = result as { readonly object: string | null; readonly cursor: string | null };
      if (found.object !== null || found.cursor === null) return found.object;
      ({ cursor } = found);
    }
  }

  return {
    async deployed(route, artifact) {
      const { manifest } = artifact;
      const kept = keptClasses(manifest);
      const added = [...kept].filter((name) => !known.has(name));
      for (const name of added) known.add(name);
      if (added.length > 0) writeFileSync(file, JSON.stringify([...known]), { mode: 0o600 });
      for (const name of kept) said.delete(name);
      for (const name of forgottenClasses(known, manifest)) {
        if (said.has(name)) continue;
        const object = await held(route, artifact, name);
        if (object === null) continue;
        said.add(name);
        warn(
          `There are durable objects of the class ${name}, such as ${JSON.stringify(object.slice(0, 80))}, but the worker ` +
            `has no such class any more. A deployment to production would fail. ${classesAdvice(name)}`,
        );
      }
    },
  };
}

function namesIn(file: string): string[] {
  try {
    const names: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string' && isClassName(name)) : [];
  } catch {
    return [];
  }
}
