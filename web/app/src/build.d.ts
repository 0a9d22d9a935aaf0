/** The path of the licenses of what is bundled. `build.mjs` puts it in. */
declare const LICENSES: string;
