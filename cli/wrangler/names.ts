// Valid names of bindings, projects and resources for the names of a Wrangler configuration. Pure.
import { isBindingName } from '#core/names.ts';

export function bindingNameOf(text: string): string {
  const made = text
    .replace(/[^A-Za-z0-9_]/g, '_')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 64);
  return made === '' || isBindingName(made) ? made : made.toUpperCase();
}

export function constantOf(text: string): string {
  return bindingNameOf(text).toUpperCase();
}

/** The name of the binding for assets, which must not have digits. */
export function assetsNameOf(text: string): string {
  return constantOf(text).replace(/\d+/g, '');
}

export function projectNameOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 40)
    .replace(/^-+|-+$/g, '');
}

/** The name of a resource; empty if no character is valid. */
export function resourceNameOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, '_')
    .replace(/^[^a-z]+|_+$/g, '')
    .slice(0, 64);
}
