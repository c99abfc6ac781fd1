// Types of typebox.mjs.
export type { Static, TSchema } from 'typebox';
export { Type, Type as default } from 'typebox';
export { Compile } from 'typebox/compile';
export type { XStatic } from 'typebox/schema';
