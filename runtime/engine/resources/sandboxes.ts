// Management operations on sandboxes: only their place, since the sandbox service reports their content.
import { placeOf, type OperationsOf } from './asked.ts';

export const sandboxOperations: OperationsOf<'sandbox'> = {
  async 'sandbox.place'(asked) {
    const { namespace, resource } = placeOf(asked, 'sandbox');
    return { project: namespace, resource };
  },
};
