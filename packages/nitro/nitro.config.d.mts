/** Options set by the preset; Nitro's own types have the others. */
declare const preset: {
  readonly entry: string;
  readonly modules: readonly ((nitro: any) => void)[];
  readonly unenv: readonly {
    readonly meta: { readonly name: string };
    readonly alias: Readonly<Record<string, string>>;
    readonly external: readonly string[];
    readonly inject: Readonly<Record<string, false>>;
  }[];
};
export default preset;
