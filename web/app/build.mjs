/**
 * Make the page from its sources: `node build.mjs FOLDER`.
 *
 * The names have the hash of the content, so a browser may keep them. The same sources give the same bytes on every
 * machine: no path, time or order of a folder gets into them.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = /^node_modules\/(?:@[^/]+\/)?[^/]+/;
/** Browsers that have `light-dark()` and `AbortSignal.any()`. */
const TARGET = ["chrome123", "firefox124", "safari17.5"];

function options(licenses) {
  return {
    absWorkingDir: HERE,
    entryPoints: { page: "src/main.tsx" },
    outdir: "static",
    entryNames: "[name]-[hash]",
    bundle: true,
    minify: true,
    format: "esm",
    charset: "utf8",
    // The same, wherever packages are linked to.
    preserveSymlinks: true,
    legalComments: "none",
    target: TARGET,
    define: { LICENSES: JSON.stringify(licenses) },
    metafile: true,
    write: false,
    logLevel: "warning",
  };
}

/** The licenses of the packages that are in the bundle. */
async function licensesOf(inputs) {
  const folders = new Set(Object.keys(inputs).flatMap((path) => PACKAGE.exec(path) ?? []));
  if (folders.size === 0) throw new Error("no package is bundled, so the licenses cannot be found");
  const parts = await Promise.all([...folders].sort().map(licenseOf));
  return parts.join("\n");
}

async function licenseOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(join(HERE, folder, "package.json"), "utf8"));
  const files = (await readdir(join(HERE, folder))).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file)).sort();
  if (files.length === 0) throw new Error(`${name} is bundled, and its package has no license text`);
  const texts = await Promise.all(files.map((file) => readFile(join(HERE, folder, file), "utf8")));
  return `${name} ${version} (${license})\n\n${texts.join("\n").trim()}\n`;
}

function hashed(name, content) {
  const digest = createHash("sha256").update(content).digest("hex").slice(0, 12).toUpperCase();
  return name.replace(/\.(?=[^.]*$)/, `-${digest}.`);
}

async function make(folder) {
  const first = await build(options(""));
  const licenses = await licensesOf(first.metafile.inputs);
  const licensesName = hashed("licenses.txt", licenses);
  const { outputFiles } = await build(options(`static/${licensesName}`));
  const files = new Map(outputFiles.map((file) => [file.path.split(/[\\/]/).at(-1), file.contents]));
  const named = (suffix) => [...files.keys()].find((name) => name.endsWith(suffix));
  const names = { script: named(".js"), style: named(".css"), licenses: licensesName };
  const template = await readFile(join(HERE, "index.html"), "utf8");
  files.set(licensesName, licenses);
  files.set(
    "index.html",
    template.replaceAll(/\{(script|style)\}/g, (_, each) => `static/${names[each]}`),
  );
  files.set("manifest.json", `${JSON.stringify(names, null, 2)}\n`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const [name, content] of files) await writeFile(join(folder, name), content);
}

await make(resolve(process.argv[2] ?? join(HERE, "..", "static")));
