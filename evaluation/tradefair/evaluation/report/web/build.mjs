// Builds assets/report.js and report.css with the licences of what is bundled, and notes the digests of all sources.
// `node build.mjs [folder]`: into ../assets, or into another folder to compare.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../assets"));
mkdirSync(out, { recursive: true });

const options = { bundle: true, minify: true, legalComments: "none", charset: "ascii", target: "es2022", write: false, absWorkingDir: here };
const script = await build({ ...options, entryPoints: ["src/main.ts"], format: "iife", metafile: true });
const style = await build({ ...options, entryPoints: ["src/report.css"] });

const packages = [...new Set(Object.keys(script.metafile.inputs).flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []))].sort();
const licences = packages.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});

const sources = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = (content) => createHash("sha256").update(content).digest("hex");
const made = { "report.js": script.outputFiles[0].contents, "report.css": style.outputFiles[0].contents, "LICENCES.txt": Buffer.from(licences.join(`\n${"-".repeat(80)}\n\n`)) };
for (const [name, content] of Object.entries(made)) writeFileSync(join(out, name), content);
const digests = {
  sources: Object.fromEntries(sources.map((name) => [name, digest(readFileSync(join(here, name)))])),
  made: Object.fromEntries(Object.entries(made).map(([name, content]) => [name, digest(content)])),
};
writeFileSync(join(out, "bundle.json"), `${JSON.stringify(digests, null, 1)}\n`);
console.log(Object.entries(made).map(([name, content]) => `${name} ${content.length} bytes`).join(", "), `from ${packages.length} packages`);
