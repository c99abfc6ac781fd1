// Storage of `Astro.session`, unless the project sets a driver: the state binding SESSIONS.

export default function sessions() {
  return {
    name: 'platform',
    getItem: async (key) => await state().get(key),
    setItem: async (key, value) => await state().put(key, value),
    removeItem: async (key) => await state().delete(key),
    hasItem: async (key) => (await state().get(key)) !== null,
    getKeys: () => [],
  };
}

function state() {
  const { SESSIONS } = globalThis[Symbol.for('platform.env')] ?? {};
  if (SESSIONS === undefined)
    throw new Error(
      'Astro.session needs "state: { SESSIONS: sessions }" in platform.yaml, or a driver in astro.config',
    );
  return SESSIONS;
}
