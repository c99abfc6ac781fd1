// Exposed ports in memory, for `platform dev` and tests.
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import type { ExposedPortRows, OwnedPort } from '../routes/exposed-ports.ts';
import type { SandboxRows } from './rows.ts';

/** @param sandboxes owners of the ports: ports of deleted sandboxes are dropped. */
export function createMemoryPorts(sandboxes: Pick<SandboxRows, 'find' | 'known'>): ExposedPortRows {
  const ports = new Map<string, OwnedPort>();

  async function ofPlace(place: SandboxPlace): Promise<readonly OwnedPort[]> {
    const key = (await sandboxes.find(place))?.key;
    return [...ports.values()].filter((port) => port.key === key);
  }

  return {
    async expose({ place, key }, wanted, most) {
      if (!(await sandboxes.known([key])).has(key)) return null;
      const own = [...ports.values()].filter((port) => port.key === key);
      const before = own.find(({ port }) => port === wanted.port);
      if (before === undefined && own.length >= most) return null;
      const exposed = { ...wanted, name: before?.name ?? wanted.name };
      ports.set(exposed.name, { ...exposed, key, place });
      return exposed;
    },
    async remove(place, port) {
      for (const own of await ofPlace(place)) if (own.port === port) ports.delete(own.name);
    },
    async list(place) {
      return (await ofPlace(place))
        .toSorted((a, b) => a.port - b.port)
        .map(({ name, port, label, isPublic }) => ({ name, port, label, isPublic }));
    },
    async find(name) {
      const found = ports.get(name);
      if (found === undefined) return null;
      const isKnown = (await sandboxes.known([found.key])).has(found.key);
      if (!isKnown) ports.delete(name);
      return isKnown ? found : null;
    },
  };
}
