"""Pages of HTML within programs."""

def embed_page(name, header, constant, page, style, scripts):
    """<name>.cc defines the texts <constant>BeforeData and <constant>AfterData of `header`.

    The page has a line @style@ and a line @script@, in whose places `style` and `scripts` go: it is one
    file for those who pass it on. It is cut at its line @data@, where the data goes.
    """
    native.genrule(
        name = name,
        srcs = [page, style] + scripts,
        outs = [name + ".cc"],
        cmd = """
cat {scripts} > $@.js
sed -e '/^@style@$$/{{r $(location {style})' -e 'd}}' \
    -e "/^@script@$$/{{r $@.js" -e 'd}}' $(location {page}) > $@.html
{{
  echo '#include "{header}"'
  echo 'namespace twinmmu {{'
  printf 'const char* const {constant}BeforeData = R"TWINMMU('
  sed '/^@data@$$/,$$d' $@.html
  echo ')TWINMMU";'
  printf 'const char* const {constant}AfterData = R"TWINMMU('
  sed '1,/^@data@$$/d' $@.html
  echo ')TWINMMU";'
  echo '}}  // namespace twinmmu'
}} > $@
rm $@.js $@.html""".format(
            scripts = " ".join(["$(location %s)" % script for script in scripts]),
            style = style,
            page = page,
            header = header,
            constant = constant,
        ),
    )
