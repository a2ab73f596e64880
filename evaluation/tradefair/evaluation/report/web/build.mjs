// Builds assets/report.js, report.css and draw.js (the pictures without a browser) with the licences of what is bundled,
// and board.html and person.html (the board of a seat, and the local page around it) for the host; notes the digests of
// all sources. `node build.mjs [folder]`: into ../assets and the host's, or into another folder to compare.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../assets"));
mkdirSync(out, { recursive: true });

const options = { bundle: true, minify: true, legalComments: "none", charset: "ascii", target: "es2022", write: false, absWorkingDir: here };
// The colours of each theme as files need them: a picture of its own has no style sheet.
const css = readFileSync(join(here, "src/report.css"), "utf8");
const themes = { light: {}, dark: {}, print: {} };
for (const [, media = "", block] of css.matchAll(/(@media[^{]*\{\s*)?:root\s*\{([^}]*)\}/g)) {
  const theme = media.includes("dark") ? "dark" : media.includes("print") ? "print" : "light";
  for (const [, name, value] of block.matchAll(/(--[\w-]+):\s*(#\w+)/g)) themes[theme][name] = value;
}
for (const theme of ["dark", "print"]) themes[theme] = { ...themes.light, ...themes[theme] };
if (!themes.light["--accent"] || themes.dark["--paper"] === themes.light["--paper"]) throw new Error("report.css: the colours of the themes are not found");
const bundle = { ...options, format: "iife", metafile: true, define: { THEMES: JSON.stringify(themes) } };
const script = await build({ ...bundle, entryPoints: ["src/main.ts"] });
const draw = await build({ ...bundle, entryPoints: ["src/draw.ts"] });
const style = await build({ ...options, entryPoints: ["src/run.css"] });

// A page that is one file and loads nothing. Hosts of MCP Apps set a policy of their own; this one is no looser than
// any of theirs: script and style by their hashes.
async function page(name, title, more) {
  const made = await Promise.all(["ts", "css"].map((end) => build({ ...bundle, entryPoints: [`src/${name}.${end}`] })));
  const [code, look] = made.map((part) => Buffer.from(part.outputFiles[0].contents).toString("utf8").trimEnd());
  if (/<\/(script|style)|<!--/i.test(code + look)) throw new Error(`${name}: its script or style would end the element`);
  const source = (content) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
  const policy = `default-src 'none'; script-src ${source(code)}; style-src ${source(look)}; ${more}img-src data:; base-uri 'none'; form-action 'none'`;
  const head = `<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><title>${title}</title><link rel="icon" href="data:,">`;
  const content = `<!doctype html>\n<html lang="en"><head>${head}<style>${look}</style></head><body><div id="app"><noscript>This page needs JavaScript.</noscript></div><script>${code}</script></body></html>\n`;
  return { content: Buffer.from(content), metafile: made[0].metafile };
}
const board = await page("board", "Board · tradefair", "");
const person = await page("person", "tradefair", "connect-src 'self'; frame-src 'self'; ");

const packages = [...new Set([script, draw, board, person].flatMap((made) => Object.keys(made.metafile.inputs)).flatMap((path) => path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []))].sort();
const licences = packages.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});

const sources = ["build.mjs", "package.json", "package-lock.json", "tsconfig.json", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
const digest = (content) => createHash("sha256").update(content).digest("hex");
const host = process.argv[2] ? out : resolve(here, "../../../../../mcp_servers/tradefair/host/assets");
mkdirSync(host, { recursive: true });
const made = { "report.js": script.outputFiles[0].contents, "report.css": style.outputFiles[0].contents, "draw.js": draw.outputFiles[0].contents, "LICENCES.txt": Buffer.from(licences.join(`\n${"-".repeat(80)}\n\n`)), "board.html": board.content, "person.html": person.content };
for (const [name, content] of Object.entries(made)) writeFileSync(join(name.endsWith(".html") ? host : out, name), content);
const digests = {
  sources: Object.fromEntries(sources.map((name) => [name, digest(readFileSync(join(here, name)))])),
  made: Object.fromEntries(Object.entries(made).map(([name, content]) => [name, digest(content)])),
};
writeFileSync(join(out, "bundle.json"), `${JSON.stringify(digests, null, 1)}\n`);
console.log(Object.entries(made).map(([name, content]) => `${name} ${content.length} bytes`).join(", "), `from ${packages.length} packages`);
