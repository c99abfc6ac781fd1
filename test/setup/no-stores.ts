// Stores of a handler in which every binding call fails; tests add the ones they need.
import type { BindingStores } from '#runtime/engine/bindings/bindings.ts';

export const noStores: BindingStores = { state: null, files: null };
